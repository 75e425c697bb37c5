import { readModules } from "./test/modules.ts";
import { prepare, runTests } from "./test/run.ts";
import { NothingSelected, select } from "./test/selection.ts";
import { report } from "./test/summary.ts";
import { readTiers } from "./test/tiers.ts";

/*
 * Usage: node scripts/test.ts quick|main|all [OPTION|PATH]...
 *
 * Installs what the selected tests need and runs them. The last line is the counts.
 */

const [tier, ...args] = process.argv.slice(2);
if (tier !== "quick" && tier !== "main" && tier !== "all") throw new Error(`there is no tier ${tier}`);

const modules = readModules();
try {
  const { files, isVerbose, options } = select(tier, args, { modules, tiers: readTiers(modules) });
  if (files.length === 0) {
    console.log("The change touches no test of this tier.");
  } else {
    await prepare(modules, files);
    report(await runTests(files, { isVerbose, options }));
  }
} catch (error) {
  if (!(error instanceof NothingSelected)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
