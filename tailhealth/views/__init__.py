"""What people see: text, the live view, the report."""
