"""Hosts that show the editor: the Panel app, the notebook widget, JupyterLab; and batches shown in a cell."""
