import type { AppRequest } from "../system.ts";

/** A client's request to change an installed app. */
export interface AppChange {
  readonly name: string;
  readonly action: "update" | "remove" | "stop" | "start" | "restart";
  /** The changed fields of an update. */
  readonly patch?: Partial<AppRequest>;
}

/** A deployment of an app, or a change of it. */
export type Request = AppRequest | AppChange;

export function isChange(request: Request): request is AppChange {
  return "action" in request;
}

/** The HTTP request, with its path below the asset's URL. */
export function httpRequest(request: Request): {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
} {
  if (!isChange(request)) return { method: "POST", path: "/edge/apps", body: request };
  const path = `/edge/apps/${request.name}`;
  if (request.action === "update") return { method: "PATCH", path, body: request.patch ?? {} };
  if (request.action === "remove") return { method: "DELETE", path };
  return { method: "POST", path: `${path}/${request.action}` };
}
