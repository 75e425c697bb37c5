import { build } from "./bundling/build.ts";

const sizes = await build({ onlyIfChanged: process.argv.includes("--if-changed") });
console.log(sizes ?? "dist/ is up to date");
