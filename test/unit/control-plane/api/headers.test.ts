import { expect, test } from "vitest";
import { preferredType } from "../../../../src/control-plane/api/headers.ts";

const [STREAM, JSON_TYPE] = ["text/event-stream", "application/json"];

test.each([
  [undefined, STREAM],
  ["*/*", STREAM],
  ["text/event-stream", STREAM],
  ["text/*", STREAM],
  ["application/json", JSON_TYPE],
  ["application/*", JSON_TYPE],
  // As axios sends it.
  ["application/json, text/plain, */*", JSON_TYPE],
  ["application/json, */*;q=0.8", JSON_TYPE],
  ["*/*, application/json", JSON_TYPE],
  ["text/event-stream;q=0.1, application/json", JSON_TYPE],
  ["application/json;q=0.5, text/event-stream", STREAM],
  ["application/json;q=0, */*", STREAM],
  ["application/json;q=0.9, */*", STREAM],
  ["application/json, text/event-stream", STREAM],
  ["Application/JSON ; charset=utf-8; Q=1", JSON_TYPE],
  ["text/html", undefined],
  ["", undefined],
])("Accept: %s prefers %s of a stream and JSON", (accept, preferred) => {
  expect(preferredType(accept, ["text/event-stream", "application/json"])).toBe(preferred);
});
