"""What error messages are made of: values put into words, suggestions, plurals."""
