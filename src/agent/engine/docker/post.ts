import type Docker from "dockerode";

/** POST of a JSON body, for calls that the client library does not have. */
export function postJson<T>(docker: Docker, path: string, body: object, abortSignal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const statusCodes = { 200: true, 201: true, 404: "not found", 500: "server error" };
    const options = { path, method: "POST", options: { _query: {}, _body: body }, abortSignal, statusCodes };
    docker.modem.dial(options, (error: Error | null, response: unknown) => {
      if (error) reject(error);
      else resolve(response as T);
    });
  });
}
