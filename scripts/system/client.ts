import { EventSourceParserStream } from "eventsource-parser/stream";
import type { RequestedAppSpec } from "../../src/protocol/apps/app-spec.ts";
import type { DeploymentEvent } from "../../src/protocol/deployments/deployment-event.ts";

/** Where to deploy, and with which key. */
export interface Target {
  readonly url: string;
  readonly apiKey: string;
  readonly asset: string;
}

/** The body of a deploy request; fields may be omitted. */
export type AppRequest = Pick<RequestedAppSpec, "name" | "image"> & Partial<RequestedAppSpec>;

/** Returns the URL of the deploy endpoint. */
export function deployUrl({ url, asset }: Pick<Target, "url" | "asset">): string {
  return `${url}/v1/assets/${asset}/edge/apps`;
}

/** Deploys an app through the public API and yields its events as they arrive. */
export function deploy(target: Target, app: AppRequest, signal?: AbortSignal): AsyncGenerator<DeploymentEvent> {
  return streamEvents(target, deployUrl(target), { method: "POST", body: JSON.stringify(app), signal: signal ?? null });
}

/** Sends a request for an existing app and yields its events. @param path the app's name and the action */
export function change(target: Target, method: string, path: string, body?: unknown): AsyncGenerator<DeploymentEvent> {
  return streamEvents(target, `${deployUrl(target)}/${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

async function* streamEvents(target: Target, url: string, request: RequestInit): AsyncGenerator<DeploymentEvent> {
  const headers = { "X-API-Key": target.apiKey, ...(request.body && { "Content-Type": "application/json" }) };
  const response = await fetch(url, { ...request, headers });
  if (!response.body || !response.headers.get("content-type")?.startsWith("text/event-stream")) {
    throw new Error(`HTTP ${response.status}: ${await response.text()}`);
  }
  const events = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  for await (const { data } of events) yield JSON.parse(data) as DeploymentEvent;
}
