"""What a process holds: calls, resources, what happens at its exit."""
