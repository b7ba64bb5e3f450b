"""All operators, one file each, in folders by family."""
