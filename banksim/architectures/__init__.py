"""Everything known of a GPU, by architecture: bank rules, occupancy, latencies, rates, where its code finds things."""
