-- What did not arrive is still listed after a start, however many deliveries there were.
CREATE INDEX delivery_missed ON delivery (number) WHERE json_extract(body, '$.state.delivery') = 'missed';
