import { join } from "node:path";
import { VERSION } from "../../../src/lib/version.ts";
import { isFinal } from "../../../src/protocol/deployments/deployment-event.ts";
import type { Suite } from "../../support/device/device-image.ts";
import { median } from "../measure.ts";
import type { Bench, Row } from "../result.ts";
import { debianOf, Gateway } from "./gateway.ts";
import { makeOtherBuild } from "./other-build.ts";
import { APP, Site } from "./site.ts";

const UPDATE_MS = 900_000;
const OLDER = `${VERSION}+1`;
const OWN = `${VERSION}+2`;
/** The oldest systemd and the newest one first. */
const SUITES: readonly Suite[] = ["bullseye", "trixie", "bookworm"];

interface Way {
  readonly what: string;
  readonly gateway: Gateway;
  /** Of the release that is brought. */
  readonly version: string;
}

/** What was seen on one way. */
interface Seen {
  readonly what: string;
  readonly awayMs: readonly number[];
  /** What did not hold; empty: everything did. */
  readonly faults: readonly string[];
}

/**
 * This build of the agent and an older one (`--baseline DIR`, the `dist/` of another checkout), each as the package and as the
 * release beside it. On each way the app is deployed by the first version, changed by the second, changed by the first again,
 * which reads the store that the second has written, and once more by the second. `--quick`: on two systems of three.
 */
export const agentOlder: Bench = {
  name: "agent-older",
  isOnRequest: true,
  async run({ quick, baseline }) {
    if (baseline === undefined) throw new Error("agent-older needs --baseline DIR, a dist/ with an older build");
    await using owned = new AsyncDisposableStack();
    const site = owned.use(await Site.start("agent-older"));
    const { key, deb } = site;
    const folder = join(site.folder, "older");
    const versions = { packageVersion: VERSION, releaseVersion: OLDER };
    const older = await makeOtherBuild({ dist: baseline, folder, key, ...versions });
    await site.serve(older.layout);
    await site.serveRelease(OWN);
    const ways: Way[] = [];
    for (const suite of SUITES.slice(0, quick ? 2 : undefined)) {
      const debian = debianOf(suite);
      for (const [what, ownDeb, version] of [
        [`${debian}: package of ${older.commit}, release of this build`, older.deb, OWN],
        [`${debian}: package of this build, release of ${older.commit}`, deb, OLDER],
      ] as const) {
        const name = `GW-${ways.length + 1}`;
        const gateway = owned.use(await Gateway.start(site, { name, suite, deb: ownDeb }));
        ways.push({ what, gateway, version });
      }
    }
    const seen = await Promise.all(ways.map((way) => go(site, way)));
    return {
      data: { older: older.commit, seen },
      rows: seen.map(({ what, awayMs, faults }): Row => ({
        what: `${what}, and back by pin, and there again`,
        value: faults.length === 0 ? "app, store and link as before" : faults.join("; "),
        reference: `away: ${(median(awayMs) / 1000).toFixed(1)} s, median of ${awayMs.length}`,
        target: { text: "as before", met: faults.length === 0 },
      })),
    };
  },
};

async function go(site: Site, { what, gateway, version }: Way): Promise<Seen> {
  const { asset, device } = gateway;
  const faults: string[] = [];
  const expectEqual = (name: string, is: unknown, expected: unknown): void => {
    if (JSON.stringify(is) !== JSON.stringify(expected))
      faults.push(`${name}: ${JSON.stringify(is)} instead of ${JSON.stringify(expected)}`);
  };
  const change = async (by: string): Promise<void> => {
    const { code, stderr } = await site.operate("apps", "update", gateway.name, APP, "--env", `GREETING=${by}`);
    expectEqual(`change of the app by ${by}`, [code, code === 0 ? "" : stderr], [0, ""]);
  };
  /** Expects that another version runs and has left the app alone. */
  const expectUntouched = async (runs: string, act: () => Promise<unknown>): Promise<void> => {
    const before = await gateway.app();
    const back = gateway.untilBack();
    await act();
    await back;
    expectEqual("version", await gateway.version(), runs);
    expectEqual(`app under ${runs}`, await gateway.app(), before);
  };
  const since = Date.now();
  const deployed = await site.backend.deploy(asset, { name: APP, image: site.image });
  expectEqual("deployment by the package", deployed.status, "Success");
  const update = await site.backend.updateAgent(asset, { version });
  await expectUntouched(version, () => update.event("the end of the update", isFinal, UPDATE_MS));
  const end = update.events.at(-1);
  expectEqual("update", [end?.status, end?.code], ["Success", undefined]);
  update[Symbol.dispose]();
  await change("the release");
  await expectUntouched("package", () => device.succeed("edge-agent pin package"));
  await change("the package again");
  await expectUntouched(version, () => device.succeed("edge-agent pin none"));
  await change("the release again");
  const doctor = await device.run("edge-agent doctor");
  expectEqual("doctor", doctor.stdout.includes("Nothing is broken") || doctor.stdout, true);
  return { what, awayMs: gateway.away(since), faults };
}
