"""C sources of the scan kernel and the script that builds them; nothing to import at run time."""
