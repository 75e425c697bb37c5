import { type Target, deployUrl } from "../system/client.ts";
import { heading } from "./terminal.ts";

interface HintOptions {
  readonly target: Target;
  readonly image: string;
  readonly appPort: number;
  readonly hostPort: number;
  /** Another port that is free. */
  readonly nextPort: number;
  readonly logs: string;
}

/** Says what to try while everything runs. The key may be shown: it belongs to this demonstration and ends with it. */
export function printHints({ target, image, appPort, hostPort, nextPort, logs }: HintOptions): void {
  const second = { name: "second", image, ports: [{ host_port: nextPort, target_port: appPort }] };
  heading("Deploy another app, from another terminal:");
  console.log(`
curl -N ${deployUrl(target)} \\
  -H 'X-API-Key: ${target.apiKey}' -H 'Content-Type: application/json' \\
  -d '${JSON.stringify(second)}'`);
  heading("Or with the operator's command:");
  console.log(`
export EDGECTL_URL=${target.url} EDGECTL_API_KEY=${target.apiKey}
dist/edgectl deploy ${target.asset} --name second --image ${image} --port ${nextPort}:${appPort}`);
  heading("Look around:");
  console.log(`
  the app        http://127.0.0.1:${hostPort}/
  API reference  ${target.url}/docs
  logs           ${logs}

Ctrl-C stops everything and removes it.`);
}
