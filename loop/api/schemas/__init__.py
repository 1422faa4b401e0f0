"""What goes over the wire, one noun a file; camelCase there, snake_case here."""
