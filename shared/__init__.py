"""What the central loop and the workers agree on; it knows neither of them."""
