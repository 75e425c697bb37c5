import { waitFor } from "../wait-for.ts";
import { engineRequest } from "./load-image.ts";

/** Runs a command in a running container and returns its exit code. */
export async function execIn(socketPath: string, container: string, command: readonly string[]): Promise<number> {
  const post = async (path: string, body: object): Promise<string> => {
    const headers = { "Content-Type": "application/json" };
    const response = await engineRequest(socketPath, "POST", path, { headers, body: JSON.stringify(body) });
    if (response.status >= 300) throw new Error(`the engine does not run the command: ${response.body}`);
    return response.body;
  };
  const { Id } = JSON.parse(
    await post(`/containers/${container}/exec`, { Cmd: command, AttachStdout: true, AttachStderr: true }),
  ) as { readonly Id: string };
  // The response ends with the command. Podman 4 does not tell the end of one that is detached.
  await post(`/exec/${Id}/start`, { Detach: false, Tty: false });
  return await waitFor(`the exit code of ${command.join(" ")}`, async () => {
    const { body } = await engineRequest(socketPath, "GET", `/exec/${Id}/json`);
    const { Running, ExitCode } = JSON.parse(body) as { readonly Running: boolean; readonly ExitCode: number | null };
    if (Running || ExitCode === null) throw new Error(body);
    return ExitCode;
  });
}

/** Whether a running container with busybox finds a host of this name, and it answers a ping. */
export async function findsHost(socketPath: string, container: string, name: string): Promise<boolean> {
  return (await execIn(socketPath, container, ["/bin/busybox", "ping", "-c", "1", "-W", "2", name])) === 0;
}

/**
 * Whether a running container with busybox resolves the name of a host. Says less than a ping, but does not depend on
 * whether packets pass: between the containers of a `PrivateEngine` the firewall of the machine's own engine drops them.
 */
export async function resolvesHost(socketPath: string, container: string, name: string): Promise<boolean> {
  return (await execIn(socketPath, container, ["/bin/busybox", "nslookup", name])) === 0;
}
