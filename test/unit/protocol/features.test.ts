import { expect, test } from "vitest";
import { ADDED_APP_FIELDS } from "../../../src/protocol/app-extras.ts";
import { appSpecSchema } from "../../../src/protocol/app-spec.ts";
import { appUpdateSchema } from "../../../src/protocol/app-update.ts";
import { progressDetails } from "../../../src/protocol/deployment-event.ts";
import { supports } from "../../../src/protocol/features.ts";
import { PROTOCOL_VERSION } from "../../../src/protocol/version.ts";

// Protocol version 1 is released: these lists never change.
const VERSION_1_FIELDS = ["name", "image", "host_network", "privileged", "environments", "ports", "volumes"];
const VERSION_1_PORT_FIELDS = ["host_port", "target_port"];

const FEATURES = ["appCommands", "deployOptions", "extraAppFields", "queries", "reports"] as const;

test("protocol version 1 has none of the features, the current version has all", () => {
  for (const feature of FEATURES) {
    expect(supports(1, feature)).toBe(false);
    expect(supports(PROTOCOL_VERSION, feature)).toBe(true);
  }
});

test("every field of an app is one of version 1 or listed as added", () => {
  const { shape } = appSpecSchema;
  const fields = [...VERSION_1_FIELDS, ...ADDED_APP_FIELDS.app].toSorted();
  expect(Object.keys(shape).toSorted()).toEqual(fields);
  expect(Object.keys(appUpdateSchema.shape).toSorted()).toEqual(fields);
  const port = shape.ports.unwrap().element.shape;
  expect(Object.keys(port).toSorted()).toEqual([...VERSION_1_PORT_FIELDS, ...ADDED_APP_FIELDS.port].toSorted());
  expect(Object.keys(shape.environments.unwrap().element.shape)).toEqual(["key", "value"]);
  expect(Object.keys(shape.volumes.unwrap().element.shape)).toEqual(["local", "target", "readonly"]);
});

test("details that decide something are read one by one, and those of the wrong type are ignored", () => {
  expect(progressDetails({})).toEqual({});
  expect(progressDetails({ details: { waiting_s: 5, cuts: 2, bytes_per_second: 1.5, waiting_for: "hours" } })).toEqual({
    waiting_s: 5,
    cuts: 2,
    bytes_per_second: 1.5,
  });
  const wrong = progressDetails({ details: { waiting_s: -1, cuts: 1.5, bytes_per_second: "fast" } });
  expect(Object.values(wrong).filter((value) => value !== undefined)).toEqual([]);
});
