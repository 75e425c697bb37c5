import { expect, test } from "vitest";
import { attemptRequest, neededVariables } from "../../../../../src/control-plane/core/fleets/attempt-request.ts";
import { goalOf, type RevisionContent } from "../../../../../src/control-plane/core/fleets/goal.ts";
import { applySchema } from "../../../../../src/protocol/apply.ts";
import { contentOf, imageOf, modelGoal } from "../../../../support/fleets/model-revisions.ts";

const variables = new Map([
  ["SITE", { value: "pump-7", isSecret: false }],
  ["TOKEN", { value: "geheim", isSecret: true }],
]);

/** A revision with two apps. */
const content: RevisionContent = applySchema.parse({
  project: "kiosk",
  apps: [
    { app: { name: "broker", image: imageOf(7) } },
    {
      app: {
        name: "web",
        image: imageOf(2),
        environments: [
          { key: "URL", value: "https://${SITE}.example.com" },
          { key: "AUTH", value: "Bearer ${TOKEN}" },
          { key: "ALONE", value: "${TOKEN}" },
          { key: "RAW", value: "$${SITE}" },
        ],
      },
      depends_on: [{ app: "broker", condition: "healthy" }],
    },
  ],
});

const input = {
  goal: goalOf("kiosk", 2, content),
  revisions: [content, contentOf(1)],
  variables,
  strategy: {},
  protocol: 4,
};

test("an attempt has the apps with variables put in, and what keeps the way back open", () => {
  const result = attemptRequest({ ...input, strategy: { max_download_bytes: 1_000 } });
  expect(result).toMatchObject({
    kind: "request",
    request: {
      project: "kiosk",
      adopt: true,
      prune: false,
      max_download_bytes: 1_000,
      fleet: { name: "kiosk", revision: 2 },
      keep_images: [imageOf(7), imageOf(2), imageOf(1)],
    },
  });
  if (result.kind !== "request") return;
  expect(result.request.apps[1]?.app.environments).toEqual([
    { key: "URL", value: "https://pump-7.example.com" },
    { key: "AUTH", value: "Bearer geheim", secret: true, secret_parts: ["geheim"] },
    { key: "ALONE", value: "geheim", secret: true },
    { key: "RAW", value: "${SITE}" },
  ]);
  expect(result.request.apps[1]?.depends_on).toEqual([{ app: "broker", condition: "healthy" }]);
  expect(result.request).not.toHaveProperty("remove");
});

test("what a device before protocol version 4 gets is an apply that it knows", () => {
  const result = attemptRequest({ ...input, protocol: 3 });
  expect(result.kind === "request" && applySchema.safeParse(result.request).success).toBe(true);
  expect(JSON.stringify(result)).not.toContain("secret_parts");
});

test("an app that is new is removed going back, and one that is missing in the new revision stays", () => {
  const back = goalOf("kiosk", 1, contentOf(1), content);
  expect(attemptRequest({ ...input, goal: back })).toMatchObject({
    request: { remove: ["broker"], fleet: { revision: 1 } },
  });
  expect(attemptRequest({ ...input, goal: back, protocol: 3 })).toEqual({ kind: "too_old" });
  const none = attemptRequest({ ...input, goal: modelGoal(undefined, 2) });
  expect(none).toMatchObject({ request: { apps: [], remove: ["web"] } });
  expect(none).not.toHaveProperty("request.fleet");
});

test("missing variables are named, each once", () => {
  expect(neededVariables(input.goal)).toEqual(["SITE", "TOKEN"]);
  expect(attemptRequest({ ...input, variables: new Map() })).toEqual({
    kind: "missing_variables",
    names: ["SITE", "TOKEN"],
  });
});
