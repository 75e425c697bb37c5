import { PrivateEngine } from "../test/support/private-engine.ts";
await using engine = await PrivateEngine.start();
process.env["DOCKER_HOST"] = `unix://${engine.socketPath}`;
const { idleApps } = await import("../test/bench/idle-apps.ts");
const result = await idleApps.run({ quick: false });
console.log(JSON.stringify(result.rows.map(({ what, value }) => [what, value])));
