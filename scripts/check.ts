import { spawnSync } from "node:child_process";

const TEXT = { encoding: "utf8" } as const;

const CHECKS = {
  types: () => spawnSync("tsc", ["-b"], TEXT),
  lint: () => spawnSync("oxlint", ["--type-aware", "--deny-warnings"], TEXT),
  format: () => spawnSync("oxfmt", ["--check"], TEXT),
  "dead code": () => spawnSync("knip", ["--no-progress"], TEXT),
};

// All checks run, so that one run shows every problem.
const failed = Object.entries(CHECKS).filter(([name, check]) => {
  const start = performance.now();
  const result = check();
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const ok = result.status === 0;
  if (!ok) process.stdout.write(result.stdout + result.stderr);
  console.log(`${ok ? "ok  " : "FAIL"} ${name.padEnd(10)} ${seconds.padStart(5)} s`);
  return !ok;
});
if (failed.length > 0) console.log(`failed: ${failed.map(([name]) => name).join(", ")}`);
process.exitCode = failed.length > 0 ? 1 : 0;
