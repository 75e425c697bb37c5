import type { AgentRig } from "../agent-rig.ts";
import type { FakeBehaviour, FakeImage } from "../fake-engine/fake-image.ts";
import type { AppRequest } from "../system.ts";
import type { ScenarioRequest } from "./model-control-plane.ts";
import type { Scenario } from "./scenario.ts";

const OLD = "example/app:1";
const NEW = "example/app:2";
const PORT = 30_001;

const installed: AppRequest = {
  name: "app",
  image: OLD,
  environments: [{ key: "SECRET", value: "value" }],
  ports: [{ host_port: PORT, target_port: 80 }],
};

const update: ScenarioRequest = { action: "update", app: "app", spec: { image: NEW } };
const change = (action: ScenarioRequest["action"]): ScenarioRequest => ({ action, app: "app" });

const DONE = { outcomes: ["Success"], remainingApps: [{ app: "app", by: 0 }] } as const;
const ROLLED_BACK = { outcomes: ["Fail"], remainingApps: [{ app: "app" }] } as const;
const CRASHES: FakeBehaviour = { exit: { code: 1, afterMs: 500 } };

/** An installed app and an image for its update. */
const withNew = (image: FakeImage = {}) => ({
  installed,
  requests: [update],
  setUp({ engine }: AgentRig) {
    engine.addImage(OLD);
    engine.addImage(NEW, { layers: [1], ...image });
  },
});

const toPull = {
  installed,
  requests: [update],
  setUp({ engine }: AgentRig) {
    engine.addImage(OLD);
    engine.publish(NEW, { layers: [1], pullMs: 3_000 });
  },
};

/** Reports success only after `silentMs`; the cancel comes before. */
const cancelledUnreported = { silentMs: 9_000, interventions: [{ atMs: 8_000, kind: "cancel" }] } as const;

/** Scenarios of an installed app. */
export const CHANGES: Readonly<Record<string, Scenario>> = {
  "an update": { ...withNew(), ...DONE },
  "an update to pull": { ...toPull, ...DONE },
  "an update of an app that takes two seconds to end": {
    ...withNew(),
    setUp({ engine }) {
      engine.addImage(OLD, { behaviour: { endsAfterMs: 2_000 } });
      engine.addImage(NEW, { layers: [1] });
    },
    ...DONE,
  },
  "an update that crashes": { ...withNew({ behaviour: CRASHES }), ...ROLLED_BACK },
  "an update that becomes unhealthy": {
    ...withNew({ behaviour: { health: { becomes: "unhealthy", afterMs: 2_000 } } }),
    ...ROLLED_BACK,
  },
  "an update whose port is taken when it starts": {
    ...withNew(),
    requests: [{ ...update, spec: { ports: [{ host_port: 30_002, target_port: 80 }] } }],
    setUp({ engine }) {
      engine.addImage(OLD);
      engine.occupyPort(30_002);
    },
    ...ROLLED_BACK,
  },
  "an update no registry has": { ...toPull, setUp: ({ engine }) => engine.addImage(OLD), ...ROLLED_BACK },
  "an update that changes nothing": {
    ...withNew(),
    requests: [{ ...update, spec: { privileged: false } }],
    outcomes: ["Success"],
    remainingApps: [{ app: "app" }],
  },
  "an update cancelled in mid-pull": { ...toPull, interventions: [{ atMs: 1_500, kind: "cancel" }], ...ROLLED_BACK },
  "an update cancelled while its new version runs": {
    ...withNew({ behaviour: { health: { becomes: "healthy", afterMs: 5_000 } } }),
    interventions: [{ atMs: 2_000, kind: "cancel" }],
    ...ROLLED_BACK,
  },
  "an update cancelled after its success, before that was reported": {
    ...withNew(),
    ...cancelledUnreported,
    ...ROLLED_BACK,
  },
  "an update while the engine is away for a time": {
    ...toPull,
    interventions: [
      { atMs: 3_200, kind: "engine", answers: false },
      { atMs: 12_000, kind: "engine", answers: true },
    ],
    ...DONE,
  },
  "an update that crashes, of an app that is stopped": {
    ...withNew({ behaviour: CRASHES }),
    isStopped: true,
    outcomes: ["Success"],
    remainingApps: [{ app: "app", by: 0, stopped: true }],
  },
  "two updates at once": {
    ...withNew(),
    requests: [update, { ...update, spec: { environments: [] } }],
    outcomes: ["Success", "Fail"],
    remainingApps: [{ app: "app", by: 0 }],
  },
  "a removal and a start during an update": {
    ...toPull,
    requests: [update, change("remove"), change("start")],
    outcomes: ["Success", "Fail", "Fail"],
    remainingApps: [{ app: "app", by: 0 }],
  },
  "an update during the first deployment": {
    requests: [{ action: "deploy", app: "app", spec: installed }, update],
    setUp: ({ engine }) => engine.publish(OLD, { pullMs: 3_000 }),
    outcomes: ["Success", "Fail"],
    remainingApps: [{ app: "app", by: 0 }],
  },
  "a removal": { ...withNew(), requests: [change("remove")], outcomes: ["Success"], remainingApps: [] },
  "a removal cancelled after its success, before that was reported": {
    ...withNew(),
    requests: [change("remove")],
    ...cancelledUnreported,
    ...ROLLED_BACK,
  },
  "a stop": {
    ...withNew(),
    requests: [change("stop")],
    outcomes: ["Success"],
    remainingApps: [{ app: "app", stopped: true }],
  },
  "a stop cancelled after its success, before that was reported": {
    ...withNew(),
    requests: [change("stop")],
    ...cancelledUnreported,
    ...ROLLED_BACK,
  },
  "a start": {
    ...withNew(),
    isStopped: true,
    requests: [change("start")],
    outcomes: ["Success"],
    remainingApps: [{ app: "app" }],
  },
  "a start cancelled after its success, before that was reported": {
    ...withNew(),
    isStopped: true,
    requests: [change("start")],
    ...cancelledUnreported,
    outcomes: ["Fail"],
    remainingApps: [{ app: "app", stopped: true }],
  },
  "a restart": { ...withNew(), requests: [change("restart")], outcomes: ["Success"], remainingApps: [{ app: "app" }] },
};
