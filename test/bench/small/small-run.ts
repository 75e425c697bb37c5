import { tempDir } from "../../support/temp-dir.ts";
import { firstSeed, SeededRandom } from "../../support/chaos/seeded-random.ts";
import { loadImage, sleeperImage, webImage } from "../../support/images.ts";
import { median } from "../measure.ts";
import { proportionalBytes } from "../process-usage.ts";
import { type Bench, inMegabytes, inMilliseconds } from "../result.ts";
import { RandomDeployments } from "./random-deployments.ts";
import { startSmallSystem } from "./small-system.ts";
import { createWatchdog } from "./watchdog.ts";

const DEFAULT_MINUTES = 60;
/** As in the unit: `WatchdogSec`. */
const WATCHDOG_MS = 60_000;

/**
 * Random deployments on a small device. Fails on the first one with another outcome than expected, if the watchdog would
 * have restarted the agent, or if the kernel has killed anything for lack of memory.
 */
export const smallRun: Bench = {
  name: "small-run",
  isOnRequest: true,
  async run({ quick, minutes = quick ? 0.5 : DEFAULT_MINUTES }) {
    const seed = firstSeed();
    console.error(`seed ${seed}, ${minutes} minutes`);
    await using folder = await tempDir();
    using watchdog = createWatchdog(folder.path, WATCHDOG_MS);
    await using device = await startSmallSystem(watchdog.environment);
    const { engine, group, system } = device;
    await using web = await loadImage(engine.socketPath, await webImage(), "web");
    await using sleeper = await loadImage(engine.socketPath, await sleeperImage(), "sleeper");
    const deployments = new RandomDeployments({
      target: system.target,
      random: new SeededRandom(seed),
      images: [web.reference, sleeper.reference],
    });
    for (const end = performance.now() + minutes * 60_000; performance.now() < end;) {
      await deployments.next();
      if (watchdog.longestSilenceMs() > WATCHDOG_MS) throw new Error("the watchdog would have restarted the agent");
      const killed = await group.killedForMemory();
      if (killed > 0) throw new Error(`the kernel has killed ${killed} processes for lack of memory`);
    }
    const { durationsMs, counts } = deployments;
    const silenceMs = watchdog.longestSilenceMs();
    const [memory, peak] = [proportionalBytes(system.agent.pid), await group.peakBytes()];
    return {
      data: { seed, minutes, counts, durationsMs, silenceMs, memory, peak },
      rows: [
        {
          what: `small: random deployments for ${minutes} min, all as expected`,
          value: String(durationsMs.length),
          reference: JSON.stringify(counts),
        },
        {
          what: "small: a deployment, median and longest",
          value: `${inMilliseconds(median(durationsMs))}, ${inMilliseconds(Math.max(...durationsMs))}`,
        },
        {
          what: "small: longest silence of the watchdog",
          value: inMilliseconds(silenceMs),
          target: { text: `below ${WATCHDOG_MS} ms`, met: silenceMs < WATCHDOG_MS },
        },
        { what: "small: agent at the end: memory (PSS)", value: inMegabytes(memory) },
        { what: "small: agent and apps: most memory, with page cache", value: inMegabytes(peak) },
      ],
    };
  },
};
