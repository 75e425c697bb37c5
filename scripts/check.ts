import { spawnSync } from "node:child_process";

const CHECKS = [
  { name: "types", command: "tsc", args: ["-b"] },
  { name: "lint", command: "oxlint", args: ["--type-aware", "--deny-warnings"] },
  { name: "format", command: "oxfmt", args: ["--check"] },
  { name: "dead code", command: "knip", args: ["--no-progress"] },
] as const;

// All of them run, so that one run shows everything there is to mend.
const failed = CHECKS.filter(({ name, command, args }) => {
  const start = performance.now();
  const result = spawnSync(command, args, { encoding: "utf8" });
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const ok = result.status === 0;
  if (!ok) process.stdout.write(result.stdout + result.stderr);
  console.log(`${ok ? "ok  " : "FAIL"} ${name.padEnd(10)} ${seconds.padStart(5)} s  ${command} ${args.join(" ")}`);
  return !ok;
});
if (failed.length > 0) console.log(`failed: ${failed.map(({ name }) => name).join(", ")}`);
process.exitCode = failed.length > 0 ? 1 : 0;
