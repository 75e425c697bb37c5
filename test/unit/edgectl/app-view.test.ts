import { expect, test } from "vitest";
import { specFields } from "../../../src/edgectl/views/spec-fields.ts";
import { APP_FIELDS, FULL } from "../../support/every-field.ts";

/** Fields that `apps show` shows outside these rows, or not at all yet. */
const ELSEWHERE = new Set(["name", "image", "ports", "healthcheck"]);

test.each(APP_FIELDS.filter((field) => !ELSEWHERE.has(field)))("apps show has a row for %s", (field) => {
  const { [field]: _removed, ...rest } = FULL;
  expect(specFields(FULL)).toHaveLength(specFields(rest).length + 1);
});
