import { expect, test } from "vitest";
import { maskSpec } from "../../../src/control-plane/core/mask-spec.ts";

test("the values of the environment are masked, and nothing else changes", () => {
  const spec = {
    name: "web",
    environments: [
      { key: "A", value: "s3cret" },
      { key: "B", value: "", secret: true },
      { key: "C", secret: true },
    ],
    ports: [],
  };
  expect(maskSpec(spec)).toEqual({
    name: "web",
    environments: [
      { key: "A", value: "***" },
      { key: "B", value: "***", secret: true },
      { key: "C", secret: true },
    ],
    ports: [],
  });
  expect(spec.environments[0]?.value).toBe("s3cret");
});

test.each([[null], [1], [{}], [{ environments: 3 }], [{ environments: [null, 1, {}] }]])("%j passes", (spec) => {
  expect(maskSpec(spec)).toEqual(spec);
});
