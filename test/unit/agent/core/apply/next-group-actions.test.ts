import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type GroupChild,
  type GroupPhase,
  MAX_PARALLEL_APPS,
  nextGroupActions,
} from "../../../../../src/agent/core/apply/next-group-actions.ts";
import { type DeploymentRecord, type Failure, newRecord } from "../../../../../src/agent/core/records.ts";
import type { AppDependency } from "../../../../../src/protocol/apps/apply.ts";

/** What an app of a random group does. */
interface App {
  readonly action: "deploy" | "update" | "remove";
  readonly isUnchanged: boolean;
  readonly failsIn: GroupPhase | undefined;
  /** Numbers of earlier apps. */
  readonly dependsOn: readonly (readonly [number, AppDependency["condition"]])[];
}

interface Group {
  readonly apps: readonly App[];
  readonly onFailure: "rollback" | "keep";
  readonly isDryRun: boolean;
  /** What happens in each round beside the plan: which app gets on, and whether there is a crash or a cancellation. */
  readonly rounds: readonly { readonly pick: number; readonly event: "none" | "crash" | "cancel" }[];
}

const app = (index: number): fc.Arbitrary<App> =>
  fc.record({
    action: fc.constantFrom("deploy", "update", "update", "remove"),
    isUnchanged: fc.boolean(),
    failsIn: fc.option(fc.constantFrom("resolve", "pull", "run"), { nil: undefined, freq: 6 }),
    dependsOn:
      index === 0
        ? fc.constant([])
        : fc.uniqueArray(fc.tuple(fc.nat(index - 1), fc.constantFrom("started" as const, "healthy" as const)), {
            maxLength: 2,
            selector: ([number]) => number,
          }),
  });

const groups: fc.Arbitrary<Group> = fc.integer({ min: 1, max: 9 }).chain((count) =>
  fc.record({
    apps: fc.tuple(...Array.from({ length: count }, (_, index) => app(index))),
    onFailure: fc.constantFrom("rollback", "keep"),
    isDryRun: fc.boolean(),
    rounds: fc.array(
      fc.record({
        pick: fc.nat(8),
        event: fc.constantFrom("none", "none", "none", "none", "none", "none", "crash", "cancel"),
      }),
      { maxLength: 40 },
    ),
  }),
);

const FAILED: Failure = { code: "CrashLoopBackOff", message: "it crashed", step: "verifying" };
const CANCELLED: Failure = { code: "DeploymentCancelled", message: "enough", step: "done" };

type Child = { -readonly [K in keyof GroupChild]: GroupChild[K] } & {
  readonly app: App;
  stage: "new" | "resolved" | "pulled" | "done";
  /** Its app is not what it was before. */
  isTouched: boolean;
};

/** Carries out the plan on a model of the deployments of apps, and checks the promises at each step. */
function simulate({ apps, onFailure, isDryRun, rounds }: Group): DeploymentRecord {
  const initial = newRecord("g", 1, undefined);
  let group: DeploymentRecord = {
    ...initial,
    action: "apply",
    apply: { onFailure },
    options: isDryRun ? { dry_run: true } : {},
  };
  const change = (fields: Partial<DeploymentRecord>): void => {
    group = { ...group, ...fields };
  };
  // Removals come first, as in an accepted group.
  const numbered = apps.map((planned, number) => ({ planned, number }));
  const sorted = [
    ...numbered.filter(({ planned }) => planned.action === "remove"),
    ...numbered.filter(({ planned }) => planned.action !== "remove"),
  ];
  const isChange = (number: number): boolean => apps[number]?.action !== "remove";
  const children: Child[] = sorted.map(({ planned, number }) => {
    const dependsOn = planned.dependsOn
      .filter(([other]) => isChange(other) && isChange(number))
      .map(([other, condition]) => ({ app: `a${other}`, condition }));
    const record = { ...newRecord(`g.${number}`, number, undefined), action: planned.action, app: `a${number}` };
    return {
      app: planned,
      record: { ...record, group: { id: "g", dependsOn } },
      phase: undefined,
      isActive: false,
      isStarted: false,
      stage: "new",
      isTouched: false,
    };
  });
  const find = (id: string): Child => {
    const child = children.find(({ record }) => record.id === id);
    if (!child) throw new Error(`no ${id}`);
    return child;
  };
  const restored: number[] = [];
  let isPlanAccepted = false;

  for (let round = 0; round < 400; round++) {
    if (group.outcome !== "pending") break;
    const { pick, event } = rounds[round] ?? { pick: 0, event: "none" };
    if (event === "cancel" && !group.failure) change({ failure: CANCELLED });
    if (event === "crash") {
      for (const child of children) Object.assign(child, { phase: undefined, isActive: false, isStarted: false });
    }
    const actions = nextGroupActions(group, children);
    const active = children.filter(({ isActive }) => isActive);
    if (actions.length === 0) {
      const next = active[pick % active.length];
      if (!next) throw new Error(`stuck: ${JSON.stringify({ group, children })}`);
      work(next);
      continue;
    }
    for (const action of actions) {
      switch (action.kind) {
        case "advance": {
          const child = find(action.id);
          expect(child.isActive).toBe(false);
          if (action.phase === "run" && !child.record.failure) {
            expect(isPlanAccepted).toBe(true);
            const changes = children.filter(({ record }) => record.action !== "remove");
            const isReady = changes.every(
              ({ stage, record }) => stage === "pulled" || record.outcome !== "pending" || stage === "done",
            );
            expect(isReady, "an app was changed before all images were there").toBe(true);
            const isRemoving = children.some(
              ({ record }) => record.action === "remove" && record.outcome === "pending",
            );
            expect(isRemoving && child.record.action !== "remove", "changed before the removals").toBe(false);
            for (const { app: name, condition } of child.record.group?.dependsOn ?? []) {
              const other = children.find(({ record }) => record.app === name);
              const isMet = other?.record.outcome === "succeeded" || (condition === "started" && other?.isStarted);
              expect(isMet, `${child.record.app} before ${name} was ${condition}`).toBe(true);
            }
          }
          Object.assign(child, { phase: action.phase, isActive: true });
          break;
        }
        case "accept":
          expect(
            children.every(({ record, stage }) => {
              return record.action === "remove" || record.outcome !== "pending" || stage !== "new";
            }),
          ).toBe(true);
          isPlanAccepted = true;
          change(isDryRun ? { outcome: "succeeded" } : { checked: true });
          break;
        case "fail":
          change({ failure: find(action.id).record.failure ?? FAILED });
          break;
        case "cancel":
          find(action.id).record = { ...find(action.id).record, failure: CANCELLED };
          break;
        case "restore": {
          const child = find(action.id);
          expect(children.filter(({ record }) => record.outcome === "pending")).toEqual([]);
          restored.push(children.indexOf(child));
          child.record = { ...child.record, outcome: "pending", failure: CANCELLED };
          Object.assign(child, { phase: "run", isActive: true });
          break;
        }
        case "end":
          change({ outcome: group.failure ? "failed" : "succeeded" });
      }
    }
    if (!group.failure) {
      expect(children.filter(({ isActive }) => isActive).length).toBeLessThanOrEqual(MAX_PARALLEL_APPS);
    }
  }

  expect(group.outcome, "the group did not end").not.toBe("pending");
  expect(restored, "restored in another order").toEqual(restored.toSorted((a, b) => b - a));
  if (isDryRun) expect(children.some(({ isTouched }) => isTouched)).toBe(false);
  if (group.outcome === "succeeded" && !isDryRun) {
    for (const { record } of children) expect(record.outcome).toBe("succeeded");
  }
  if (group.outcome === "failed") {
    const keeps = onFailure === "keep" && group.failure?.code !== "DeploymentCancelled";
    for (const child of children) {
      expect(child.record.outcome).not.toBe("pending");
      if (!keeps || child.record.outcome === "failed") expect(child.isTouched, "an app is not as before").toBe(false);
    }
  }
  return group;

  /** What the deployment of an app does next: it parks, ends, or begins. */
  function work(child: Child): void {
    const { app: planned, record, phase } = child;
    const end = (fields: Partial<DeploymentRecord>): void => {
      child.record = { ...record, ...fields };
      child.isActive = false;
    };
    if (record.failure) {
      child.isTouched = false;
      return end({ outcome: "failed" });
    }
    if (planned.failsIn === phase && !(phase === "run" && !child.isStarted)) {
      child.isTouched = false;
      return end({ outcome: "failed", failure: FAILED });
    }
    if (planned.action === "update" && planned.isUnchanged) return end({ outcome: "succeeded", result: "unchanged" });
    if (phase === "resolve") {
      if (child.stage === "new") child.stage = "resolved";
      child.isActive = false;
      return;
    }
    if (phase === "pull") {
      child.stage = "pulled";
      child.isActive = false;
      return;
    }
    child.isTouched = true;
    if (!child.isStarted) {
      child.isStarted = true;
      return;
    }
    child.stage = "done";
    const results = { deploy: "installed", update: "updated", remove: "removed" } as const;
    end({ outcome: "succeeded", result: results[planned.action] });
  }
}

describe("the plan of a group", () => {
  it("ends with every group, failure, crash and cancellation, in order, and with every app as before if it failed", () => {
    const ends = new Map<string, number>();
    fc.assert(
      fc.property(groups, (group) => {
        const { outcome, failure } = simulate(group);
        const end = `${outcome} ${failure?.code ?? ""}`;
        ends.set(end, (ends.get(end) ?? 0) + 1);
      }),
      { numRuns: 2_000 },
    );
    // Each way to end is among them.
    expect([...ends.keys()].toSorted()).toEqual([
      "failed CrashLoopBackOff",
      "failed DeploymentCancelled",
      "succeeded ",
    ]);
  });

  it("does nothing for a group that has ended", () => {
    expect(nextGroupActions({ ...newRecord("g", 1, undefined), outcome: "succeeded" }, [])).toEqual([]);
  });
});
