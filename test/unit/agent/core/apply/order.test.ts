import fc from "fast-check";
import { expect, it } from "vitest";
import { inOrder, withHandovers } from "../../../../../src/agent/core/apply/order.ts";
import { childId, requestedDeploymentId } from "../../../../../src/agent/core/apply/child-id.ts";
import type { AppSpec } from "../../../../../src/protocol/apps/app-spec.ts";
import { FULL } from "../../../../support/every-field.ts";

const NAMES = ["a", "b", "c", "d", "e"];
const changes = fc.uniqueArray(
  fc.record({
    app: fc.constantFrom(...NAMES),
    dependsOn: fc.uniqueArray(
      fc.record({ app: fc.constantFrom(...NAMES), condition: fc.constantFrom("started" as const, "healthy" as const) }),
      { selector: ({ app }) => app, maxLength: 2 },
    ),
  }),
  { selector: ({ app }) => app, minLength: 1 },
);

it("each app comes after those it depends on, or a circle is named", () => {
  fc.assert(
    fc.property(changes, (given) => {
      const result = inOrder(given);
      if (!result.ok) {
        // Each depends on the next, the last one on the first.
        for (const [index, app] of result.circle.entries()) {
          const next = result.circle[(index + 1) % result.circle.length];
          expect(given.find((change) => change.app === app)?.dependsOn.map((other) => other.app)).toContain(next);
        }
        return;
      }
      expect(result.changes.map(({ app }) => app).toSorted()).toEqual(given.map(({ app }) => app).toSorted());
      for (const [index, { dependsOn }] of result.changes.entries()) {
        for (const { app } of dependsOn) {
          expect(result.changes.findIndex((other) => other.app === app)).toBeLessThan(index);
        }
      }
    }),
  );
});

const withPort = (host_port: number): AppSpec => ({
  ...FULL,
  host_network: false,
  ports: [{ host_port, target_port: 80 }],
});

it("an app that takes over a port waits for the app that gives it up", () => {
  const handed = withHandovers([
    { app: "new", before: undefined, after: withPort(30_001), dependsOn: [{ app: "old", condition: "started" }] },
    { app: "old", before: withPort(30_001), after: withPort(30_002), dependsOn: [] },
  ]);
  expect(handed.map(({ dependsOn }) => dependsOn)).toEqual([[{ app: "old", condition: "healthy" }], []]);
});

it("the id of an app's deployment leads to the one that was requested", () => {
  expect(requestedDeploymentId(childId("dep_01KAN9", 3))).toBe("dep_01KAN9");
  expect(requestedDeploymentId("dep_01KAN9")).toBe("dep_01KAN9");
});
