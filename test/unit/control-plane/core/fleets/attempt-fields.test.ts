import { expect, test } from "vitest";
import { attemptRequest } from "../../../../../src/control-plane/core/fleets/attempt.ts";
import { goalOf, type RevisionContent } from "../../../../../src/control-plane/core/fleets/fleet.ts";
import { applyEntrySchema, applySchema } from "../../../../../src/protocol/apps/apply.ts";
import { splitDeployRequest } from "../../../../../src/protocol/apps/deploy-request.ts";

const imageOf = (name: string, version: number): string => `${name}@sha256:${String(version).padStart(64, "0")}`;
const revision = (version: number, names: readonly string[]): RevisionContent => ({
  apps: names.map((name) => applyEntrySchema.parse({ app: { name, image: imageOf(name, version) } })),
});

const BEFORE = revision(1, ["db", "web"]);
const NEW = revision(2, ["db", "ui"]);

/** The request of a goal. */
function requestFor(goal: ReturnType<typeof goalOf>) {
  const revisions = [BEFORE, NEW];
  return attemptRequest({ goal, revisions, variables: new Map(), strategy: { max_download_bytes: 5 } });
}

test.each([
  ["the new revision", goalOf("kiosks", 2, NEW)],
  ["the one before, without the new app", goalOf("kiosks", 1, BEFORE, NEW)],
  ["nothing, as before the first revision", goalOf("kiosks", undefined, undefined, NEW)],
])("what is sent to reach %s is what devices take", (_name, goal) => {
  const result = requestFor(goal);
  if (result.kind !== "request") throw new Error(result.kind);
  const { spec } = splitDeployRequest(result.request);
  expect(applySchema.parse(spec)).toMatchObject({ project: "kiosks", adopt: true });
});

test("the images of both revisions are kept, unless nothing of the fleet is left", () => {
  const images = [imageOf("db", 1), imageOf("web", 1), imageOf("db", 2), imageOf("ui", 2)];
  expect(requestFor(goalOf("kiosks", 1, BEFORE, NEW))).toMatchObject({
    request: { remove: ["ui"], fleet: { name: "kiosks", revision: 1 }, keep_images: images },
  });
  const gone = requestFor(goalOf("kiosks", undefined, undefined, NEW));
  expect(gone).toMatchObject({ request: { apps: [], remove: ["db", "ui"] } });
  expect(gone).not.toHaveProperty("request.keep_images");
});
