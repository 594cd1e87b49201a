"""What a trained model costs, how it fares past its trained length, and how smooth its rows are.

Every measure is a pure function from a model and tokens, or from tables, to a frozen record whose
fields carry their units; `dataclasses.asdict` of a record is its JSON.
"""
