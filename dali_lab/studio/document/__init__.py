"""The document behind an editor: its content, changes, problems, files and exports."""
