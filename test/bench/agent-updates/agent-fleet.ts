import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { VERSION } from "../../../src/lib/version.ts";
import type { AppContainer } from "../../support/device/service.ts";
import type { Suite } from "../../support/device/device-image.ts";
import { waitFor } from "../../support/wait-for.ts";
import { median } from "../measure.ts";
import { atMost, type Bench, inMegabytes } from "../result.ts";
import { type Counted, debianOf, Gateway, type Traffic } from "./gateway.ts";
import { APP, Site } from "./site.ts";
import { Transcript } from "./transcript.ts";

const FLEET = "gateways";
const BAD = `${VERSION}+1`;
const GOOD = `${VERSION}+2`;
const FAULT = `if (process.argv[2] === "run") throw new Error("cannot read the field table of undefined");`;
const MIB = 1024 ** 2;
const RETURN_MS = 600_000;
const NAMES = Array.from({ length: 8 }, (_, index) => `GW-${index + 1}`);
const [FIRST = "", SECOND = "", , , PINNED = "", FULL = "", AWAY = ""] = NAMES;

/** What a device was and had counted at a moment. */
interface Snapshot {
  readonly app: AppContainer | undefined;
  readonly wire: Traffic;
  readonly counted: Counted;
}

/** What became of a device. */
interface Outcome {
  readonly gateway: Gateway;
  /** Milliseconds of `systemctl restart`, each. */
  readonly restarts: readonly number[];
  /** Milliseconds of each absence, in the bad rollout and in the good one. */
  readonly away: readonly (readonly number[])[];
  readonly wire: readonly number[];
  readonly counted: readonly Counted[];
  readonly version: string;
  readonly isSameApp: boolean;
}

/**
 * Updates of the agent as an operator sees them: eight whole devices with systemd and engines of their own in one fleet, a
 * release that does not work, one that does. Writes what happened beside the results.
 */
export const agentFleet: Bench = {
  name: "agent-fleet",
  isOnRequest: true,
  async run({ quick }) {
    await using owned = new AsyncDisposableStack();
    const site = owned.use(await Site.start("agent-fleet"));
    await site.serveRelease(BAD, { fault: FAULT });
    await site.serveRelease(GOOD);
    const gateways = await startGateways(site, owned);
    const transcript = new Transcript(site);
    const expectEnd = async (id: string, state: string): Promise<void> => {
      const { body } = await site.backend.api.get(`/v1/fleets/${FLEET}/rollouts/${id}`);
      if (body["state"] !== state) throw new Error(`the rollout is ${String(body["state"])}:\n${transcript.text()}`);
    };

    await transcript.applyFleet(fleetFile(site.image));
    await expectEnd(await transcript.rollOut(FLEET), "succeeded");
    const restarts = new Map<Gateway, number[]>();
    for (const gateway of gateways) {
      const times: number[] = [];
      for (let round = 0; round < (quick ? 1 : 3); round++) times.push(await gateway.restartService());
      restarts.set(gateway, times);
    }
    const pinned = find(gateways, PINNED);
    const away = find(gateways, AWAY);
    await pinned.device.succeed("edge-agent pin package");
    await find(gateways, FULL).shrinkDisk(60 * MIB);

    const before = await snapshots(gateways);
    const badAt = transcript.begin(`A release that does not work: ${BAD}`);
    await transcript.applyFleet(fleetFile(site.image, BAD));
    await expectEnd(await transcript.rollOut(FLEET), "rolled_back");
    await transcript.show("rollouts", "show", FLEET);
    await transcript.show("rollouts", "targets", FLEET, "--failed");
    await transcript.addDevices(gateways);
    const between = await snapshots(gateways);

    const goodAt = transcript.begin(`A release that works: ${GOOD}`);
    await away.switchOff();
    transcript.add(AWAY, "is switched off");
    await transcript.applyFleet(fleetFile(site.image, GOOD));
    const good = await transcript.rollOut(FLEET);
    await expectEnd(good, "succeeded");
    await transcript.show("rollouts", "show", FLEET);
    await transcript.show("rollouts", "targets", FLEET);
    transcript.add(AWAY, "is switched on");
    await away.switchOn();
    await away.untilOnline();
    await waitFor(`${AWAY} to run ${GOOD}`, () => isCurrent(site, AWAY), { timeoutMs: RETURN_MS, intervalMs: 1_000 });
    await transcript.addDevices(gateways);
    await transcript.show("fleets", "members", FLEET);
    await transcript.show("assets", "list");
    const after = await snapshots(gateways);

    const outcomes: Outcome[] = [];
    for (const [index, gateway] of gateways.entries()) {
      const [first, second, third] = [before[index], between[index], after[index]] as [Snapshot, Snapshot, Snapshot];
      const all = gateway.away(badAt);
      const inGood = gateway.away(goodAt);
      outcomes.push({
        gateway,
        restarts: restarts.get(gateway) ?? [],
        away: [all.slice(0, all.length - inGood.length), inGood],
        wire: [bytesBetween(first, second), bytesBetween(second, third)],
        counted: [countedBetween(first, second), countedBetween(second, third)],
        version: await gateway.version(),
        isSameApp: isSame(first.app, third.app, gateway === away),
      });
    }
    transcript.addTable(COLUMNS, outcomes.map(toRow));
    const file = join("bench-results", "agent-fleet.md");
    await mkdir("bench-results", { recursive: true });
    await writeFile(file, transcript.text());
    console.log(transcript.text());
    console.error(`the transcript is in ${file}`);
    return summary(outcomes);
  },
};

/** Two at a time, so that a small machine has the memory and the time for it. */
async function startGateways(site: Site, owned: AsyncDisposableStack): Promise<Gateway[]> {
  const gateways: Gateway[] = [];
  for (const pair of [0, 2, 4, 6]) {
    const suites: readonly Suite[] = ["bookworm", "trixie"];
    const started = await Promise.all(
      suites.map(async (suite, index) => {
        const name = NAMES[pair + index] ?? "";
        const gateway = await Gateway.start(site, { name, suite, hasOwnDisk: name === FULL });
        owned.use(gateway);
        await site.backend.api.put(`/v1/assets/${gateway.asset.uuid}/tags`, { role: "gateway" });
        return gateway;
      }),
    );
    gateways.push(...started);
  }
  return gateways;
}

function fleetFile(image: string, agent?: string): string {
  return [
    `fleet: ${FLEET}`,
    "selector: role=gateway",
    "strategy:",
    `  waves: [{ assets: [${FIRST}, ${SECOND}], soak_s: 0 }]`,
    "  soak_s: 0",
    "  max_parallel: 4",
    "  stop_when: { failed: 1 }",
    "  on_stop: rollback",
    "  offline_after_s: 60",
    "  refused: allow",
    ...(agent === undefined ? [] : [`agent: { version: ${agent} }`]),
    "apps:",
    `  ${APP}:`,
    `    image: ${image}`,
    "",
  ].join("\n");
}

function find(gateways: readonly Gateway[], name: string): Gateway {
  const gateway = gateways.find((other) => other.name === name);
  if (!gateway) throw new Error(`there is no ${name}`);
  return gateway;
}

/** Of one device after the other. What is counted is asked for first: the question costs bytes, too. */
async function snapshots(gateways: readonly Gateway[]): Promise<Snapshot[]> {
  const taken: Snapshot[] = [];
  for (const gateway of gateways)
    taken.push({ counted: await gateway.counted(), wire: await gateway.wire(), app: await gateway.app() });
  return taken;
}

async function isCurrent({ backend }: Site, name: string): Promise<boolean> {
  const { body } = await backend.api.get(`/v1/fleets/${FLEET}/members`);
  const { members } = body as { members: readonly { readonly serial_number: string; readonly state: string }[] };
  return members.some((member) => member.serial_number === name && member.state === "current");
}

function bytesBetween({ wire: before }: Snapshot, { wire: after }: Snapshot): number {
  return after.received - before.received + after.sent - before.sent;
}

function countedBetween({ counted: before }: Snapshot, { counted: after }: Snapshot): Counted {
  return { agent: after.agent - before.agent, all: after.all - before.all };
}

/** The app's container is the same; it was not started again unless the whole device was. */
function isSame(before: AppContainer | undefined, after: AppContainer | undefined, wasOff: boolean): boolean {
  if (!before || !after?.running || before.id !== after.id) return false;
  return wasOff || before.startedAt === after.startedAt;
}

const COLUMNS = [
  "device",
  "system",
  "what it was",
  "`systemctl restart`: away",
  "bad release: away",
  "good release: away",
  "bad: wire",
  "bad: counted",
  "good: wire",
  "good: counted",
  "runs in the end",
  "app",
] as const;

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
const all = (times: readonly number[]): string => times.map(seconds).join(", ") || "-";
const kilobytes = (bytes: number): string => `${(bytes / 1000).toFixed(0)} kB`;

function roleOf({ name }: Gateway): string {
  if (name === FIRST || name === SECOND) return "wave one";
  if (name === PINNED) return "pinned";
  if (name === FULL) return "disk of 60 MiB";
  return name === AWAY ? "off, and back" : "";
}

function toRow({ gateway, restarts, away, wire, counted, version, isSameApp }: Outcome): string[] {
  const traffic = [0, 1].flatMap((phase) => {
    const { agent = 0, all: every = 0 } = counted[phase] ?? {};
    return [kilobytes(wire[phase] ?? 0), `${kilobytes(every)}, ${kilobytes(agent)} of it for the update`];
  });
  return [
    gateway.name,
    debianOf(gateway.suite),
    roleOf(gateway),
    all(restarts),
    all(away[0] ?? []),
    all(away[1] ?? []),
    ...traffic,
    version,
    isSameApp ? "untouched" : "CHANGED",
  ];
}

function summary(outcomes: readonly Outcome[]): Awaited<ReturnType<Bench["run"]>> {
  const updated = outcomes.filter(({ version, gateway }) => version === GOOD && gateway.name !== AWAY);
  const gone = median(updated.flatMap(({ away }) => away[1] ?? []));
  const restart = median(updated.flatMap(({ restarts }) => restarts));
  const bytes = Math.max(...updated.map(({ wire }) => wire[1] ?? Number.NaN));
  const untouched = outcomes.filter(({ isSameApp }) => isSameApp).length;
  const back = median(outcomes.flatMap(({ away }) => away[0] ?? []));
  return {
    data: { outcomes: outcomes.map(({ gateway, ...rest }) => ({ device: gateway.name, ...rest })) },
    rows: [
      {
        what: `release of the agent, ${updated.length} devices: away, median`,
        value: seconds(gone),
        reference: `systemctl restart: ${seconds(restart)}`,
        ratio: gone / restart,
        target: atMost(1.2, "x", gone / restart),
      },
      {
        what: "release that crashes: away until the version before is back, median",
        value: seconds(back),
      },
      {
        what: "release of the agent: most bytes on the wire of a device, both directions",
        value: inMegabytes(bytes),
        target: atMost(1.5, "MB", bytes / 1e6),
      },
      {
        what: "apps that run in the same container, started at the same time",
        value: `${untouched} of ${outcomes.length}`,
      },
    ],
  };
}
