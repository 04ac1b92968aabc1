/** What the server suite measures, in this order. */
export const SECTIONS = ['singles', 'lifecycles', 'handover', 'renewals', 'latency'];

export const PLAIN_SECTIONS = [];
