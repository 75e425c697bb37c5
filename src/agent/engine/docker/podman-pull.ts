import type Docker from "dockerode";

/**
 * Pulls through Podman's own API, which can be told to do without TLS; the Docker-compatible one cannot. Its messages
 * are `{"stream"}` with lines for people, `{"error"}`, and at last `{"id"}`.
 */
export function podmanPull(
  docker: Docker,
  reference: string,
  abortSignal: AbortSignal,
): Promise<AsyncIterable<Buffer>> {
  return new Promise((resolve, reject) => {
    const options = {
      path: "/v4.0.0/libpod/images/pull?",
      method: "POST",
      options: { reference, tlsVerify: false },
      isStream: true,
      abortSignal,
      statusCodes: { 200: true, 400: "bad parameter", 500: "server error" },
    };
    docker.modem.dial(options, (error: Error | null, answer: unknown) => {
      if (error) reject(error);
      else resolve(answer as AsyncIterable<Buffer>);
    });
  });
}
