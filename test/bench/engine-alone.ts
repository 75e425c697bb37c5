import { engineRequest } from "../support/images.ts";

/** What a deployment asks of the engine: a container with a port on a network where apps find each other by name. */
export interface EngineRun {
  readonly name: string;
  readonly image: string;
  readonly hostPort: number;
  readonly targetPort: number;
  /** Default: the engine's own network. */
  readonly network?: string;
}

const HEADERS = { "Content-Type": "application/json" };

/**
 * Creates and starts a container by the engine's API, without anything before, between or after: what no program can be
 * faster than. Its options are those of an app.
 */
export async function runByEngine(socket: string, run: EngineRun): Promise<void> {
  const { name, image, hostPort, targetPort, network } = run;
  const port = `${targetPort}/tcp`;
  const body = {
    Image: image,
    ExposedPorts: { [port]: {} },
    HostConfig: {
      PortBindings: { [port]: [{ HostPort: String(hostPort) }] },
      RestartPolicy: { Name: "unless-stopped" },
      LogConfig: { Type: "json-file", Config: { "max-size": "10000000", "max-file": "2" } },
      ...(network !== undefined && { NetworkMode: network }),
    },
    ...(network !== undefined && { NetworkingConfig: { EndpointsConfig: { [network]: { Aliases: [name] } } } }),
  };
  const created = await post(socket, `/containers/create?name=${name}`, JSON.stringify(body));
  const { Id } = JSON.parse(created) as { readonly Id: string };
  await post(socket, `/containers/${Id}/start`);
}

/** Pulls an image by the engine's API. */
export async function pullByEngine(socket: string, reference: string): Promise<void> {
  const at = reference.lastIndexOf(":");
  const [name, tag] = [reference.slice(0, at), reference.slice(at + 1)];
  const progress = await post(socket, `/images/create?fromImage=${encodeURIComponent(name)}&tag=${tag}`);
  if (progress.includes('"error"')) throw new Error(`the engine did not pull ${reference}: ${progress.slice(-500)}`);
}

async function post(socket: string, path: string, body = ""): Promise<string> {
  const response = await engineRequest(socket, "POST", path, { headers: HEADERS, body });
  if (response.status >= 400) throw new Error(`${path}: ${response.status} ${response.body}`);
  return response.body;
}
