import { type Context, loadLogin } from "../context.ts";
import { StreamConnection } from "./connection.ts";

/** Connects to the service for streams to an app, with the server and key in effect. */
export async function openConnection(context: Context, asset: string, app: string): Promise<StreamConnection> {
  const { url: baseUrl, apiKey } = await loadLogin(context);
  const { clock, interrupted: signal } = context.io;
  return StreamConnection.open({ baseUrl, apiKey, asset, app, clock, signal });
}
