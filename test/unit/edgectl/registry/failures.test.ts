import { expect, test } from "vitest";
import { noResponse } from "../../../../src/edgectl/registry/failures.ts";

const coded = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:5000"), { code: "ECONNREFUSED" });

test.each([
  ["ECONNREFUSED", coded],
  ["bad port", new Error("bad port")],
  ["Error", new Error("https://user:secret@registry.example.com failed")],
  ["fetch failed", "something"],
])("a registry that does not respond: %s", (told, cause) => {
  const failure = noResponse("registry.example.com", new TypeError("fetch failed", { cause }));
  expect(failure.message).toBe(`The registry registry.example.com cannot be reached: ${told}.`);
});
