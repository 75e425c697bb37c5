import { FakeSession } from "../../support/gateway/fake-session.ts";
import { gatewayContract } from "./gateway-contract.ts";
import { ASSET, localGateway } from "./harness.ts";

gatewayContract({
  name: "on one instance",
  open: async () => {
    const session = new FakeSession(ASSET);
    let isConnected = true;
    return {
      gateway: localGateway(() => (isConnected ? session : undefined)),
      session,
      disconnect: () => void (isConnected = false),
      idle: async () => {},
      [Symbol.asyncDispose]: async () => {},
    };
  },
});
