// usage: node pss.ts ROOT ; idle agent of this checkout, beside its own control plane; no app
const root = process.argv[2] + "/";
process.chdir(root);
const { startAgent, waitUntilOnline } = await import(root + "scripts/system/agent.ts");
const { startControlPlane } = await import(root + "scripts/system/control-plane.ts");
const { proportionalBytes } = await import(root + "test/bench/process-usage.ts");
const { tempDir } = await import(root + "test/support/temp-dir.ts");
await using folder = await tempDir();
await using control = await startControlPlane(folder.path);
const { deviceToken } = await control.register("idle", "IDLE-1");
const times = [];
for (let i = 0; i < 3; i++) {
  await using agent = await startAgent(folder.path + "/device", { controlPlaneUrl: control.agentUrl, deviceToken, executable: "dist/edge-agent", config: {} });
  times.push(await waitUntilOnline(agent));
}
await using agent = await startAgent(folder.path + "/device", { controlPlaneUrl: control.agentUrl, deviceToken, executable: "dist/edge-agent", config: {} });
await waitUntilOnline(agent);
await new Promise((r) => setTimeout(r, 100_000));
console.log(JSON.stringify({ root, pss: proportionalBytes(agent.pid), times }));
