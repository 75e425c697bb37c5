import { Navigate, type RouteObject, createBrowserRouter } from "react-router";
import { Loading } from "../parts/loading.tsx";
import { ErrorPage } from "./error-page.tsx";
import { MissingPartPage } from "./missing-part-page.tsx";
import { NotFoundPage } from "./not-found-page.tsx";
import { PAGES } from "./pages.ts";
import { Permitted } from "./permitted.tsx";
import { PublicFrame } from "./public-frame.tsx";
import { SessionFrame } from "./session-frame.tsx";

type Entry = [path: string, page: (typeof PAGES)[keyof typeof PAGES]];

/** The routes of all pages: those without a session, and those inside the shell. */
export function createRouter(): ReturnType<typeof createBrowserRouter> {
  const entries: Entry[] = Object.entries(PAGES);
  return createBrowserRouter([
    {
      errorElement: <ErrorPage />,
      // While the first page is loaded.
      hydrateFallbackElement: <Loading />,
      children: [
        { element: <PublicFrame />, children: entries.filter(([, { isPublic }]) => isPublic).map(toRoute) },
        {
          element: <SessionFrame />,
          children: [
            { path: "/", element: <Navigate to="/overview" replace /> },
            ...entries.filter(([, { isPublic }]) => !isPublic).map(toRoute),
            { path: "*", element: <NotFoundPage /> },
          ],
        },
      ],
    },
  ]);
}

function toRoute([path, { load, permission }]: Entry): RouteObject {
  return {
    path,
    errorElement: <ErrorPage />,
    lazy: async () => {
      const Page = await load().catch((error: unknown) => () => <MissingPartPage error={error} />);
      if (permission === undefined) return { Component: Page };
      return {
        element: (
          <Permitted permission={permission}>
            <Page />
          </Permitted>
        ),
      };
    },
  };
}
