import { build } from "./bundling/build.ts";

await build({ onlyIfChanged: process.argv.includes("--if-changed") });
