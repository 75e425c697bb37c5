import { build } from "./build/build.ts";

await build({ onlyIfChanged: process.argv.includes("--if-changed") });
