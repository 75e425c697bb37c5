import type { ApplyRequestInput } from "../../../src/protocol/apps/apply.ts";
import type { AgentRig } from "../agent-rig.ts";
import type { FakeImage } from "../fake-engine/fake-image.ts";
import type { AppRequest } from "../system.ts";
import type { RemainingApp, Scenario } from "./scenario.ts";

const PORTS: Readonly<Record<string, number>> = { db: 30_001, web: 30_002, ui: 30_003, new: 30_004 };

const image = (app: string, version: number): string => `example/${app}:${version}`;

/** Apps are asked for without a question to the registry, unless an image is missing. */
const app = (name: string, version = 1): AppRequest => ({
  name,
  image: image(name, version),
  environments: [{ key: "SECRET", value: "value" }],
  ports: [{ host_port: PORTS[name] ?? 0, target_port: 80 }],
});

const entry = (
  { name, image: reference, environments = [], ports = [], volumes = [] }: AppRequest,
  dependsOn: readonly string[] = [],
): ApplyRequestInput["apps"][number] => ({
  app: { name, image: reference, environments, ports, volumes, pull: "missing" },
  depends_on: dependsOn.map((other) => ({ app: other, condition: "healthy" as const })),
});

const group = (
  apps: ApplyRequestInput["apps"],
  fields: Partial<ApplyRequestInput> = {},
): Scenario["requests"][number] => ({ action: "apply", app: "line", spec: { project: "line", apps, ...fields } });

/** What is installed before: db, which web depends on, and ui. */
const INSTALLED: ApplyRequestInput = {
  project: "line",
  apps: [entry(app("db")), entry(app("web"), ["db"]), entry(app("ui"))],
};
const as = (deployment: string, spec: AppRequest): RemainingApp => ({ app: spec.name, ofGroup: { deployment, spec } });
const AS_BEFORE = [as("before.1", app("db")), as("before.3", app("ui")), as("before.2", app("web"))];
const BACK = { outcomes: ["Fail"], remainingApps: AS_BEFORE } as const;

/** Both versions of the installed apps, and the new one; `second` is of the images of second versions by app. */
const images =
  (second: Readonly<Record<string, FakeImage>> = {}, added: FakeImage = {}) =>
  ({ engine }: AgentRig): void => {
    for (const [index, name] of ["db", "web", "ui"].entries()) {
      engine.addImage(image(name, 1), { layers: [index + 1] });
      engine.addImage(image(name, 2), { layers: [index + 10], ...second[name] });
    }
    engine.addImage(image("new", 1), { layers: [20], ...added });
  };

const CRASHES: FakeImage = { behaviour: { exit: { code: 1, afterMs: 500 } } };

/** Updates db, adds an app that depends on it, leaves web as it is, and removes ui. */
const CHANGED = group([entry(app("db", 2)), entry(app("new"), ["db"]), entry(app("web"), ["db"])], { prune: true });

/** The same, with the removal by name, and nothing else to prune. */
const REMOVED = group([entry(app("db", 2)), entry(app("new"), ["db"])], { remove: ["ui", "unknown"] });

/** An app with the volume of the project, which an app of another name takes over. */
const withVolume = (spec: AppRequest): AppRequest => ({ ...spec, volumes: [{ name: "data", target: "/data" }] });
const RENAMED = group([entry(withVolume(app("new"))), entry(app("web"), ["new"])], { prune: true });
const BEFORE_RENAMING: ApplyRequestInput = {
  project: "line",
  apps: [entry(withVolume(app("db"))), entry(app("web"), ["db"])],
};

const SCENARIOS: Readonly<Record<string, Omit<Scenario, "isLong">>> = {
  "a group of new apps": {
    requests: [group([entry(app("web"), ["db"]), entry(app("db"))])],
    setUp: images(),
    outcomes: ["Success"],
    remainingApps: [as("d0.1", app("db")), as("d0.2", app("web"))],
  },
  "a group that updates, adds, leaves and removes an app": {
    installedGroup: INSTALLED,
    requests: [CHANGED],
    setUp: images(),
    outcomes: ["Success"],
    remainingApps: [as("d0.2", app("db", 2)), as("d0.3", app("new")), as("before.2", app("web"))],
  },
  "a group whose last app crashes": {
    installedGroup: INSTALLED,
    requests: [CHANGED],
    setUp: images({}, CRASHES),
    ...BACK,
  },
  "a group whose last app crashes, and that keeps the rest": {
    installedGroup: INSTALLED,
    requests: [group([entry(app("db", 2)), entry(app("new"), ["db"])], { prune: true, on_failure: "keep" })],
    setUp: images({}, CRASHES),
    outcomes: ["Fail"],
    // Removals come first: ui and web are gone, and db is updated.
    remainingApps: [as("d0.3", app("db", 2))],
  },
  "a group that removes an app by name": {
    installedGroup: INSTALLED,
    requests: [REMOVED],
    setUp: images(),
    outcomes: ["Success"],
    remainingApps: [as("d0.2", app("db", 2)), as("d0.3", app("new")), as("before.2", app("web"))],
  },
  "a group that removes an app by name, and whose last app crashes": {
    installedGroup: INSTALLED,
    requests: [REMOVED],
    setUp: images({}, CRASHES),
    ...BACK,
  },
  "a group in which an app is renamed and keeps its volume": {
    installedGroup: BEFORE_RENAMING,
    requests: [RENAMED],
    setUp: images(),
    outcomes: ["Success"],
    remainingApps: [as("d0.2", withVolume(app("new"))), as("before.2", app("web"))],
    kept: { volumes: { data: "0:0" } },
  },
  "a group in which an app is renamed and crashes": {
    installedGroup: BEFORE_RENAMING,
    requests: [RENAMED],
    setUp: images({}, CRASHES),
    outcomes: ["Fail"],
    remainingApps: [as("before.1", withVolume(app("db"))), as("before.2", app("web"))],
    kept: { volumes: { data: "0:0" } },
  },
  "a group of images to pull, of which one is missing": {
    installedGroup: INSTALLED,
    requests: [
      group([entry({ ...app("db"), image: image("db", 3) }), entry({ ...app("web"), image: image("web", 3) })]),
    ],
    setUp(rig) {
      images()(rig);
      rig.engine.publish(image("db", 3), { layers: [30], pullMs: 2_000 });
    },
    ...BACK,
  },
  "a group cancelled midway": {
    installedGroup: INSTALLED,
    requests: [CHANGED],
    setUp: images(),
    interventions: [{ atMs: 4_500, kind: "cancel" }],
    ...BACK,
  },
  "a group cancelled after its success, before that was reported": {
    installedGroup: INSTALLED,
    requests: [CHANGED],
    setUp: images(),
    silentMs: 16_000,
    interventions: [{ atMs: 15_000, kind: "cancel" }],
    ...BACK,
  },
};

/** Scenarios of groups of apps. */
export const GROUPS: Readonly<Record<string, Scenario>> = Object.fromEntries(
  Object.entries(SCENARIOS).map(([name, scenario]) => [name, { ...scenario, isLong: true }]),
);
