import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { PROTOCOL_VERSION } from "../../../src/protocol/version.ts";
import { LocalAgent } from "../../support/agent-local/local-agent.ts";
import { run, succeed } from "../../support/command.ts";
import { answerAll, ControlPeer } from "../../support/link/control-peer.ts";
import { smallDisk, smallDiskUnavailableReason } from "../../support/small-disk.ts";
import { waitFor } from "../../support/wait-for.ts";
import { startScriptedEngine } from "../../support/scripted-engine.ts";

const VERSION = { Version: "20.10.24", ApiVersion: "1.41", Os: "linux", Arch: "amd64" };
const missing = await smallDiskUnavailableReason();

/** Answers as an engine without containers. */
const startEngine = () =>
  startScriptedEngine((request, response) => {
    const answer = request.url?.includes("/version") ? VERSION : request.url?.includes("json") ? [] : {};
    response.setHeader("Content-Type", "application/json").end(JSON.stringify(answer));
  });

/** A control plane that welcomes the device. */
const startPeer = () =>
  ControlPeer.start({
    onFrame(session, frame) {
      if (frame.type === "hello")
        session.send({
          type: "welcome",
          protocol: PROTOCOL_VERSION,
          session_id: "s",
          asset: { uuid: "u", serial_number: "S", name: "D" },
        });
      else answerAll(session, frame);
    },
  });

describe.skipIf(missing !== undefined)("a disk that fails under a running agent (needs root to mount one)", () => {
  it("is named by the refusal, the report, the status and the doctor; the agent runs on", async () => {
    await using disk = await smallDisk(32);
    await succeed("mount", ["-o", "remount,errors=remount-ro", disk.path]);
    await using device = await LocalAgent.create();
    await using engine = await startEngine();
    await using peer = await startPeer();
    const state = { state_dir: join(disk.path, "state"), engine: { socket: engine.socketPath } };
    await device.configure({ url: `ws://127.0.0.1:${peer.port}/v1/agent`, config: state });
    await device.start();
    const session = await waitFor("a session", async () => peer.sessions.at(-1));
    await waitFor("a report", async () => session.frames.some(({ type }) => type === "report"));
    expect((await device.command("status")).code).toBe(0);

    const source = (await succeed("findmnt", ["-no", "SOURCE", disk.path])).trim();
    await writeFile(`/sys/fs/ext4/${basename(source)}/trigger_fs_error`, "1");
    const spec = { name: "web", image: "example/web:1" };
    session.send({ type: "deploy", deployment_id: "dep-1", spec });
    const refusal = await waitFor("the refusal", async () => session.frames.find(({ type }) => type === "refuse"));
    expect(refusal).toEqual({
      type: "refuse",
      deployment_id: "dep-1",
      code: "StateNotWritable",
      message: `The device cannot store the request: The file system of ${state.state_dir} is read-only.`,
    });
    expect(await device.command("status")).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/online for[^!]*! The file system of \S+ is read-only\..*remount,rw/s) as string,
    });
    const file = join(device.directory, "app.json");
    await writeFile(file, JSON.stringify(spec));
    const local = await device.command("deploy", "-f", file);
    expect(local.stdout + local.stderr).toContain("is read-only");
    const { broken } = await device.json<{ broken: string[] }>("doctor");
    expect(broken).toContain("permissions");
    expect(session.closeCode).toBeUndefined();
    // The device tells it in its next report.
    await waitFor("the report of the disk", async () =>
      session.frames.some((frame) => frame.type === "report" && frame.device?.state_writable === false),
    );
    expect((await run("touch", [join(disk.path, "x")])).code).not.toBe(0);
  });

  it("lets the agent start, which says so, and works as soon as the disk can be written", async () => {
    await using disk = await smallDisk(32);
    await using device = await LocalAgent.create();
    await using engine = await startEngine();
    await using peer = await startPeer();
    const state = { state_dir: join(disk.path, "state"), engine: { socket: engine.socketPath } };
    await device.configure({ url: `ws://127.0.0.1:${peer.port}/v1/agent`, config: state });
    await device.start();
    await waitFor("a session", async () => peer.sessions.length > 0);
    await device.kill();
    await succeed("mount", ["-o", "remount,ro", disk.path]);

    await device.start();
    const session = await waitFor("another session", async () => peer.sessions[1]);
    await waitFor("the report of the disk", async () =>
      session.frames.some((frame) => frame.type === "report" && frame.device?.state_writable === false),
    );
    expect(await device.command("status")).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/online for[^!]*! The file system of \S+ is read-only\..*remount,rw/s) as string,
    });
    expect((await device.json<{ broken: string[] }>("doctor")).broken[0]).toBe("permissions");
    const spec = { name: "web", image: "example/web:1" };
    session.send({ type: "deploy", deployment_id: "dep-1", spec });
    const refusal = await waitFor("the refusal", async () => session.frames.find(({ type }) => type === "refuse"));
    expect(refusal).toMatchObject({
      code: "StateNotWritable",
      message: expect.stringContaining("read-only") as string,
    });

    await succeed("mount", ["-o", "remount,rw", disk.path]);
    session.send({ type: "deploy", deployment_id: "dep-2", spec });
    await waitFor("the acknowledgement", async () => session.frames.some((frame) => frame.type === "ack"));
    expect((await device.command("status")).stdout).not.toContain("read-only");
    // A second agent is kept out, though the first could not lock the directory for itself.
    const second = await run(process.execPath, ["src/agent/main.ts", "run", "--config", device.configPath]);
    expect(second.stdout + second.stderr).toContain("is in use by another edge-agent");
    expect(session.closeCode).toBeUndefined();
  });
});
