import { affectedTests, changedSince } from "./test/affected.ts";
import { git, readModules } from "./test/modules.ts";
import { prepare, runTests } from "./test/run.ts";
import { report, sum } from "./test/summary.ts";
import { readTiers, shareOf } from "./test/tiers.ts";

/*
 * Runs CI's part of the tests that `npm test` leaves out: the share of this landing, so that every test runs in one of
 * five landings, then what the changes since the landing before touch, as far as the time allows. The last line is the
 * counts.
 */

/** Each landing changes this file: its commits number the landings, and say where the one before was. */
const LANDING = ".ci/landing";
/** No further tests are begun after this time, in minutes. */
const MAX_MINUTES = 20;
/** Files that are run at a time, between two looks at the clock. */
const BATCH = 20;

if (git("rev-parse", "--is-shallow-repository")[0] === "true")
  throw new Error("landings cannot be counted in a shallow clone: git fetch --unshallow");
const [current, before = current] = git("log", "--format=%H", "--", LANDING);
if (current === undefined || before === undefined) throw new Error(`no commit has changed ${LANDING}`);
const landing = git("log", "--format=%H", "--", LANDING).length;

const end = performance.now() + MAX_MINUTES * 60_000;
const modules = readModules();
const tiers = readTiers(modules);
const main = new Set(tiers.main);
const share = shareOf(tiers, landing);
const changed = changedSince(before);
const touched = affectedTests(modules, changed, tiers.all).filter((path) => !main.has(path) && !share.includes(path));
console.log(
  `Landing ${landing}: ${share.length} files are its share, ${touched.length} more are touched by ${changed.length} changed files since ${before.slice(0, 8)}.`,
);

await prepare(modules, [...share, ...touched]);
let summary = await runTests(share);
let left = touched;
while (left.length > 0 && performance.now() < end) {
  summary = sum(summary, await runTests(left.slice(0, BATCH)));
  left = left.slice(BATCH);
}
if (left.length > 0) console.log(`not run for lack of time: ${left.join(", ")}`);
report(summary);
