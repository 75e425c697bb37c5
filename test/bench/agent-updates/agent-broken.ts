import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { VERSION } from "../../../src/lib/version.ts";
import { type DeploymentEvent, isFinal } from "../../../src/protocol/deployments/deployment-event.ts";
import type { EnginePackage, Suite } from "../../support/device/device-image.ts";
import { config } from "../../support/device/device-faults.ts";
import type { Bench } from "../result.ts";
import { waitFor } from "../../support/wait-for.ts";
import { BROKEN_RELEASES, type BrokenRelease } from "./broken-releases.ts";
import { debianOf, Gateway } from "./gateway.ts";
import { APP, Site } from "./site.ts";
import { markdownTable } from "./transcript.ts";

/** Three attempts of the longest trial, with the time in between, on a busy machine. */
const END_MS = 2_400_000;
const DEFAULT_TRIAL_S = 900;

interface System {
  readonly suite: Suite;
  readonly enginePackage: EnginePackage;
}

const SYSTEMS: readonly System[] = [
  { suite: "bookworm", enginePackage: "docker.io" },
  { suite: "trixie", enginePackage: "podman" },
  { suite: "bullseye", enginePackage: "docker.io" },
  { suite: "bookworm", enginePackage: "podman" },
  { suite: "trixie", enginePackage: "docker.io" },
];

interface Player {
  readonly gateway: Gateway;
  readonly system: System;
}

/** What one device did with one release. */
interface Outcome {
  readonly release: BrokenRelease;
  readonly system: System;
  readonly end: DeploymentEvent;
  readonly awayMs: readonly number[];
  readonly secondsInAll: number;
  readonly runs: string;
  readonly isAppUntouched: boolean;
}

/**
 * Releases that are broken, each on whole devices: what the device does, how long it is away, and what the operator reads. As a
 * table, beside the results. `--quick`: on two of the five systems only, each with more devices.
 */
export const agentBroken: Bench = {
  name: "agent-broken",
  isOnRequest: true,
  async run({ quick }) {
    await using owned = new AsyncDisposableStack();
    const site = owned.use(await Site.start("agent-broken"));
    for (const { suffix, fault, script } of BROKEN_RELEASES)
      await site.serveRelease(versionOf(suffix), {
        ...(fault !== undefined && { fault }),
        ...(script !== undefined && { script }),
      });
    const systems = SYSTEMS.slice(0, quick ? 2 : undefined);
    const players: Player[] = [];
    for (let round = 0; round < (quick ? 4 : 2); round++) {
      const starting = systems.map(async (system, index): Promise<Player> => {
        const name = `GW-${round * systems.length + index + 1}`;
        const gateway = owned.use(await Gateway.start(site, { name, ...system }));
        const { status, message } = await site.backend.deploy(gateway.asset, {
          name: APP,
          image: await gateway.loadApp(),
        });
        if (status !== "Success")
          throw new Error(`the app was not deployed on ${name}, ${JSON.stringify(system)}: ${message}`);
        return { gateway, system };
      });
      players.push(...(await Promise.all(starting)));
    }
    // Those that take longest first.
    const inTurn = BROKEN_RELEASES.toSorted((one, other) => attemptsOf(other) - attemptsOf(one));
    const queues = new Map(systems.map((system) => [system, [...inTurn]]));
    const outcomes: Outcome[] = [];
    await Promise.all(
      players.map(async ({ gateway, system }) => {
        // The last one stays on its device: it has nothing to go back from.
        for (let release = queues.get(system)?.shift(); release; release = queues.get(system)?.shift()) {
          const outcome = await play(site, gateway, system, release);
          outcomes.push(outcome);
          console.error(toCells(outcome).join(" | "));
          if (release.reason === undefined) break;
        }
      }),
    );
    const order = (outcome: Outcome): number =>
      BROKEN_RELEASES.indexOf(outcome.release) * SYSTEMS.length + SYSTEMS.indexOf(outcome.system);
    const sorted = outcomes.toSorted((one, other) => order(one) - order(other));
    const text = `${markdownTable(HEADER, sorted.map(toCells))}\n`;
    await mkdir("bench-results", { recursive: true });
    await writeFile(join("bench-results", "agent-broken.md"), text);
    console.log(text);
    const held = sorted.filter(isAsExpected);
    return {
      data: { outcomes: sorted },
      rows: [
        {
          what: "broken releases: the device is back on the version before, or says that it was confirmed, and its app is untouched",
          value: `${held.length} of ${sorted.length}`,
          target: {
            text: "all",
            met: held.length === sorted.length && sorted.length === systems.length * BROKEN_RELEASES.length,
          },
        },
      ],
    };
  },
};

const versionOf = (suffix: string): string => `${VERSION}+${suffix}`;

/** One that could not be confirmed is tried three times. */
const attemptsOf = ({ reason }: BrokenRelease): number => (reason === "unconfirmed" ? 3 : 1);

async function play(site: Site, gateway: Gateway, system: System, release: BrokenRelease): Promise<Outcome> {
  const { device, asset } = gateway;
  const version = versionOf(release.suffix);
  await device.succeed(config(`c.agent_updates = { trial_s: ${release.trialS ?? DEFAULT_TRIAL_S} }`));
  const before = await gateway.app();
  const since = Date.now();
  using update = await site.backend.updateAgent(asset, { version });
  const end = await update.event(`the end of ${version}`, isFinal, END_MS);
  // The first absence was that of the update, the second one is a crash.
  if (release.reason === undefined)
    await waitFor("a crash", () => gateway.away(since).length >= 2, { timeoutMs: END_MS, intervalMs: 1_000 });
  await gateway.untilOnline();
  const after = await gateway.app();
  return {
    release,
    system,
    end,
    awayMs: gateway.away(since),
    secondsInAll: (Date.now() - since) / 1000,
    runs: await gateway.version(),
    isAppUntouched: after?.running === true && after.id === before?.id && after.startedAt === before.startedAt,
  };
}

function isAsExpected({ release, end, runs, isAppUntouched }: Outcome): boolean {
  if (!isAppUntouched) return false;
  if (release.reason === undefined) return end.status === "Success" && runs === versionOf(release.suffix);
  return end.status === "Fail" && end.details?.["reason"] === release.reason && runs === "package";
}

const HEADER = [
  "the release",
  "device",
  "it ended with",
  "away, each time",
  "until it was over",
  "what the operator reads",
  "last line of its log",
  "then runs",
  "app",
] as const;

const seconds = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} s`;

function toCells({ release, system, end, awayMs, secondsInAll, runs, isAppUntouched }: Outcome): string[] {
  const { suite, enginePackage } = system;
  const logs = (end.details?.["logs"] ?? []) as readonly string[];
  return [
    release.name,
    `${debianOf(suite)}, ${enginePackage === "podman" ? "Podman" : "Docker"}`,
    typeof end.details?.["reason"] === "string" ? end.details["reason"] : end.status,
    awayMs.map((ms) => seconds(ms / 1000)).join(", "),
    seconds(secondsInAll),
    `${end.code ?? end.status}: ${end.message}`,
    logs.at(-1) ?? "",
    runs,
    isAppUntouched ? "untouched" : "CHANGED",
  ];
}
