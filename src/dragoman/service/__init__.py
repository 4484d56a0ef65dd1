"""The use cases: what people and programs want done, over everything below; faces call these and nothing deeper."""
