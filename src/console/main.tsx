import "@mantine/core/styles.css";
import "./app/base.css";
import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { RouterProvider } from "react-router/dom";
import { createQueryClient } from "./api/query-client.ts";
import { takeLinkCode } from "./session/link-code.ts";
import { createRouter } from "./app/router.tsx";
import { cssVariables, readNonce, theme } from "./app/theme.ts";

takeLinkCode();
const root = document.querySelector("#root");
if (!root) throw new Error("the document has no #root");
createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      cssVariablesResolver={cssVariables}
      getStyleNonce={readNonce}
      deduplicateCssVariables
    >
      <QueryClientProvider client={createQueryClient()}>
        <RouterProvider router={createRouter()} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
