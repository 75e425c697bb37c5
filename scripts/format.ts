import { spawnSync } from "node:child_process";

const result = spawnSync("oxfmt", [], { stdio: "inherit" });
process.exitCode = result.status ?? 1;
