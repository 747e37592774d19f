// The world that workflow scripts live in. Evaluated once per QuickJS context, before any script.
// It builds the host object, then takes away what scripts must not have and freezes the rest, so that
// nothing one job does to a shared object can be seen by the next job.
(function (native) {
  "use strict";
  const { defineProperty, freeze, getPrototypeOf, getOwnPropertyDescriptor, keys, hasOwn } = Object;
  const { ownKeys, apply } = Reflect;
  const { isArray } = Array;
  const { imul } = Math;
  const parse = JSON.parse;
  const stringify = JSON.stringify;
  const tag = Object.prototype.toString;

  // ---- state of the current job ------------------------------------------------------------------
  let now = 0, seedLow = 0, seedHigh = 0, stream = null;
  let host = null, agents = null, contexts = null, last = null;
  let logs = null, logged = 0, heard = 0;
  // What only some jobs need: the workflow's library, and what was made while the job ran.
  let kit, job = null;
  const MAX_LOGGED = 64 * 1024;

  const load = (what) => parse(native.view(what));

  function calls(list) {
    for (const call of list) {
      call.name = call.function.name;
      call.arguments = call.function.arguments;
    }
    return list;
  }

  // ---- agents and contexts -----------------------------------------------------------------------
  class Agent {
    #data;
    constructor(data) {
      this.#data = data;
      this.id = data.id;
      this.role = data.role;
      this.context = data.context;
    }
    getLastResponse() { return this.#data.last_response; }
    getToolCalls() { return this.#data.tool_calls; }
    getParsingToolCalls() { return this.#data.parsing_tool_calls; }
    getRole() { return this.#data.role; }
    getContextRole() { return this.#data.side; }
  }

  class Context {
    constructor(data) {
      this.name = data.name;
      this.agents = data.agents;
      this.messages = data.messages;
    }
    getMessages() { return this.messages; }
    getName() { return this.name; }
    getLastMessage() { return this.messages.at(-1) ?? null; }
    getMessagesByRole(role) { return this.messages.filter((message) => message.role === role); }
    hasMessages() { return this.messages.length > 0; }
    addMessage(message) {
      const fault = messageFault(message);
      if (fault) throw new TypeError(`addMessage: ${fault}`);
      this.messages.push({ role: message.role, content: message.content });
    }
    clear() { this.messages.length = 0; }
    clearMessages() { this.messages.length = 0; }
  }

  const ROLES = ["user", "assistant", "system"];
  function messageFault(message) {
    if (typeof message !== "object" || message === null) return "a message must be an object {role, content}";
    if (!ROLES.includes(message.role)) return `role must be one of ${ROLES.join(", ")}`;
    if (typeof message.content !== "string") return "content must be a string";
    return null;
  }

  const collection = {
    get(id) { return hasOwn(this, id) ? this[id] : undefined; },
    has(id) { return hasOwn(this, id); },
    keys() { return keys(this); },
    values() { return keys(this).map((id) => this[id]); },
    entries() { return keys(this).map((id) => [id, this[id]]); },
    forEach(visit) { for (const id of keys(this)) visit(this[id], id, this); },
    get size() { return keys(this).length; },
    [Symbol.iterator]() { return this.entries()[Symbol.iterator](); },
  };
  for (const name of ownKeys(collection)) defineProperty(collection, name, { enumerable: false });

  function collect(list, key) {
    const all = { __proto__: collection };
    for (const item of list) defineProperty(all, item[key], { value: item, enumerable: true });
    return freeze(all);
  }

  // Each message as it came, to tell afterwards which of them are unchanged.
  let origins = null;
  function loadContexts() {
    origins = new WeakMap();
    const list = load("contexts");
    for (const context of list) {
      for (const message of context.messages) {
        origins.set(message, { origin: message.origin, role: message.role, content: message.content });
        delete message.origin;
      }
      context.before = context.messages.slice();
    }
    const made = list.map((data) => new Context(data));
    contexts = { view: collect(made, "name"), list: list.map((data, at) => [made[at], data.before]) };
  }

  function find(kind, all, id) {
    if (hasOwn(all, id)) return all[id];
    const known = keys(all);
    throw new Error(`there is no ${kind} "${String(id)}" in this workflow; known: ${known.length ? known.join(", ") : "none"}`);
  }

  const allAgents = () => agents ??= collect(load("agents").map((data) => {
    calls(data.tool_calls);
    calls(data.parsing_tool_calls);
    return new Agent(data);
  }), "id");
  const allContexts = () => { if (!contexts) loadContexts(); return contexts.view; };
  const theLast = () => {
    if (!last) {
      last = load("last");
      calls(last.last_tool_calls);
      calls(last.last_parsing_tool_calls);
    }
    return last;
  };

  // ---- what else can be read ---------------------------------------------------------------------
  function frozen(value) {
    if (typeof value === "object" && value !== null) {
      for (const name of keys(value)) frozen(value[name]);
      freeze(value);
    }
    return value;
  }

  // The last answer as providers send it: arguments are text (SD.20).
  const raw = ({ id, type, arguments: text, function: { name } }) =>
    ({ id, type, function: { name, arguments: typeof text === "string" ? text : stringify(text) } });
  function lastResponse() {
    const { last_agent_response: content, last_tool_calls: made } = theLast();
    if (content === null) return null;
    const message = { role: "assistant", content: content === "" && made.length ? null : content };
    if (made.length) message.tool_calls = made.map(raw);
    return { choices: [{ index: 0, message, finish_reason: made.length ? "tool_calls" : "stop" }] };
  }

  // ---- the library: made anew for each job that uses it --------------------------------------------
  function library() {
    job ??= {};
    if (!job.offered) {
      job.offered = { __proto__: null };
      native.touched();
      job.offered = apply(kit.factory, host, [{ exports: {} }]);
    }
    return job.offered;
  }

  // Plain names of a library's functions know the host as `this`; classes stay what they are.
  function own(name) {
    const value = library()[name];
    if (typeof value !== "function" || getOwnPropertyDescriptor(value, "prototype")?.writable === false) return value;
    return apply(bind, value, [host]);
  }
  const { bind } = Function.prototype;

  // Once per workflow: members that make the library when one of them is read.
  function equip(names, factory) {
    const members = { __proto__: hostMembers };
    for (const name of names) {
      defineProperty(members, name, { get: freeze(() => library()[name]), enumerable: true });
    }
    return freeze({ members: freeze(members), factory });
  }

  // ---- what steps do: updates of the state, and the count of loops -----------------------------------
  const describe = (value) => value === null ? "null" : isArray(value) ? "a list" : `a ${typeof value}`;
  const number = (value, path, what) => {
    if (typeof value === "number" && Number.isFinite(value)) return value;
    throw new TypeError(`cannot ${what} \`${path}\`: ${describe(value)} is no number`);
  };
  const isObject = (value) => typeof value === "object" && value !== null && !isArray(value);
  const operations = {
    __proto__: null,
    set: (_, value) => value,
    append(old, value, path) {
      if (old === undefined) return [value];
      if (!isArray(old)) throw new TypeError(`cannot append to \`${path}\`: it is ${describe(old)}, no list`);
      return [...old, value];
    },
    increment: (old, value, path) => number(old ?? 0, path, "increment") + number(value, path, "increment"),
    decrement: (old, value, path) => number(old ?? 0, path, "decrement") - number(value, path, "decrement"),
    multiply: (old, value, path) => number(old ?? 0, path, "multiply") * number(value, path, "multiply"),
    merge(old, value, path) {
      if (old !== undefined && !isObject(old)) throw new TypeError(`cannot merge into \`${path}\`: it is ${describe(old)}, no object`);
      if (!isObject(value)) throw new TypeError(`cannot merge ${describe(value)} into \`${path}\``);
      return { ...old, ...value };
    },
  };
  function update(root, path, operation, value) {
    const keys = path.split(".");
    const last = keys.pop();
    let at = root;
    for (const key of keys) {
      if (at[key] === undefined) at[key] = {};
      at = at[key];
      if (typeof at !== "object" || at === null) throw new TypeError(`cannot write \`${path}\`: \`${key}\` is ${describe(at)}`);
    }
    const made = operations[operation](hasOwn(at, last) ? at[last] : undefined, value, path);
    if (made === undefined) throw new TypeError(`the value for \`${path}\` is undefined`);
    at[last] = made;
  }
  const flow = {
    // Every value was read before the first is written.
    set(updates) {
      for (const entry of updates) {
        if (typeof entry[2] === "function") entry[2] = apply(entry[2], host, [host]);
      }
      for (const [path, operation, value] of updates) update(host.common_data, path, operation, value);
    },
    begin(depth, step) {
      const turning = (host.common_data._loops ?? []).slice(0, depth);
      host.common_data._loops = [...turning, { step, index: -1 }];
    },
    turn(depth) {
      host.common_data._loops.length = depth + 1;
      host.common_data._loops[depth].index += 1;
    },
    turns(depth) { return host.common_data._loops[depth].index + 1; },
    end(depth, status, key) {
      const iterations = flow.turns(depth);
      if (depth === 0) delete host.common_data._loops; else host.common_data._loops.length = depth;
      if (key !== undefined) host.common_data[key] = { status, iterations };
    },
  };

  // ---- the host: `this` of every script ----------------------------------------------------------
  const hostMembers = {
    get variables() { return this.common_data; },
    set variables(value) { this.common_data = value; },
    get state() { return this.common_data; },
    set state(value) { this.common_data = value; },
    get inputs() { return (job ??= {}).inputs ??= frozen(load("inputs")); },
    get input() { const all = this.inputs, names = keys(all); return names.length === 1 ? all[names[0]] : all; },
    get loop() {
      const turning = this.common_data._loops;
      if (!isArray(turning) || turning.length === 0) return theLast().loop;
      const { index } = turning[turning.length - 1];
      return { index, iteration: index + 1, is_first: index === 0 };
    },
    get workflow_contexts() { return allContexts(); },
    get last_response() { return (job ??= {}).answer ??= lastResponse(); },
    get agents() { return allAgents(); },
    get contexts() { return allContexts(); },
    get sub_workflow_result() { return theLast().sub_workflow_result; },
    get last_agent_response() { return theLast().last_agent_response; },
    get last_tool_calls() { return theLast().last_tool_calls; },
    get last_parsing_tool_calls() { return theLast().last_parsing_tool_calls; },
    get lastAgentResponse() { return this.last_agent_response; },
    get lastToolCalls() { return this.last_tool_calls; },
    get lastParsingToolCalls() { return this.last_parsing_tool_calls; },
    get subWorkflowResult() { return this.sub_workflow_result; },
    get context() { return theLast().context; },
    get executionContext() { return this; },
    getAgent(id) { return find("agent", allAgents(), id); },
    getContext(name) { return find("context", allContexts(), name); },
    getToolCalls(id) { return find("agent", allAgents(), id).getToolCalls(); },
    // What the person said unasked: each text once, the oldest first.
    getUserInput() {
      const said = theLast().said ?? [];
      return heard < said.length ? said[heard++] : null;
    },
    evaluateExpression(text) {
      if (typeof text !== "string") return text;
      const compiled = native.compile(text);
      return typeof compiled === "function" ? run(compiled, host) : text;
    },
    __call(name) {
      for (const call of theLast().last_parsing_tool_calls) if (call.function.name === name) return call;
      return undefined;
    },
    __own: own,
    __flow: flow,
    // A state's handlers: what follows the answer, then what names the next state. Once per job.
    __next(decide, after, states) {
      job ??= {};
      // only the first of several conditions says which states there are
      states = job.states ??= states;
      if (!job.decided) {
        if (after) apply(after, host, [host]);
        const next = decide ? apply(decide, host, [host]) : undefined;
        if (next && !states.includes(next)) {
          throw new Error(`there is no state ${show(next)} to go to; known: ${states.join(", ")}`);
        }
        job.decided = { next: next || null };
      }
      return job.decided.next;
    },
  };

  // Only where the caller gives a reader of files: workflow scripts have none.
  if (native.readFile) hostMembers.readFile = (path) => native.readFile(String(path));

  // `common_data.variables` reads `common_data` itself unless a key of that name is stored.
  const dataMembers = {
    get variables() { return this; },
    set variables(value) {
      defineProperty(this, "variables", { value, writable: true, enumerable: true, configurable: true });
    },
  };
  defineProperty(dataMembers, "variables", { enumerable: false });

  function begin(data, time, low, high, given) {
    kit = given; job = null;
    now = time; seedLow = low; seedHigh = high; stream = null;
    agents = null; contexts = null; last = null; origins = null; logs = null; logged = 0; heard = 0;
    host = Object.preventExtensions({ __proto__: kit ? kit.members : hostMembers, common_data: data });
    return host;
  }

  function run(compiled, self) {
    let value = apply(compiled, self, []);
    if (typeof value === "function") value = apply(value, self, [self]);
    if (value instanceof Promise) {
      throw new TypeError("workflow scripts cannot wait: remove async, await and promises");
    }
    return value;
  }

  // What the job did besides changing common_data: JSON {contexts, logs, fault}, or undefined for nothing.
  function finish() {
    if (!contexts && !logs && !heard) return undefined;
    const out = { contexts: [], logs: logs ?? [], fault: null, heard };
    if (contexts) {
      for (const [context, before] of contexts.list) {
        const messages = context.messages;
        if (!isArray(messages)) { out.fault = `contexts.${context.name}.messages is no longer a list`; break; }
        let changed = messages.length !== before.length;
        const list = [];
        for (let at = 0; at < messages.length; at++) {
          const message = messages[at];
          const fault = messageFault(message);
          if (fault) { out.fault = `contexts.${context.name}.messages[${at}]: ${fault}`; return stringify(out); }
          const was = origins.get(message);
          const same = was !== undefined && was.role === message.role && was.content === message.content;
          if (!same || before[at] !== message) changed = true;
          list.push({ role: message.role, content: message.content, origin: same ? was.origin : null });
        }
        if (changed) out.contexts.push([context.name, list]);
      }
    }
    return stringify(out);
  }

  // A word for what JSON cannot hold, or undefined for a plain object.
  const FOREIGN = ["Map", "Set", "WeakMap", "WeakSet", "RegExp", "Error", "Promise", "ArrayBuffer", "DataView",
    "Number", "String", "Boolean", "Symbol", "BigInt", "Generator"];
  function foreign(value) {
    const name = apply(tag, value, []).slice(8, -1);
    return FOREIGN.includes(name) || ArrayBuffer.isView(value) ? name : undefined;
  }

  const wellFormed = (text) => text.toWellFormed();

  // ---- console -----------------------------------------------------------------------------------
  function show(value) {
    if (typeof value === "string") return value;
    if (typeof value === "object" && value !== null && !(value instanceof Error)) return stringify(value) ?? "undefined";
    return String(value);
  }
  function log(...values) {
    if (logged >= MAX_LOGGED) return;
    const line = values.map(show).join(" ").slice(0, MAX_LOGGED - logged);
    logged += line.length + 1;
    (logs ??= []).push(logged >= MAX_LOGGED ? `${line} … (further output is not kept)` : line);
  }
  const console = { log, info: log, warn: log, error: log, debug: log };

  // ---- time and randomness come from the journal -------------------------------------------------
  const RealDate = Date;
  function Date_(...parts) {
    if (new.target === undefined) return new RealDate(now).toString();
    return Reflect.construct(RealDate, parts.length === 0 ? [now] : parts, new.target);
  }
  Date_.prototype = RealDate.prototype;
  for (const [name, value] of [["name", "Date"], ["length", 7], ["now", () => now],
    ["parse", RealDate.parse], ["UTC", RealDate.UTC]]) {
    defineProperty(Date_, name, { value, writable: true, configurable: true, enumerable: false });
  }
  RealDate.prototype.constructor = Date_;
  globalThis.Date = Date_;

  // sfc32, warmed up.
  function draw() {
    const t = (stream[0] + stream[1] + stream[3]) | 0;
    stream[3] = (stream[3] + 1) | 0;
    stream[0] = stream[1] ^ (stream[1] >>> 9);
    stream[1] = (stream[2] + (stream[2] << 3)) | 0;
    stream[2] = ((stream[2] << 21) | (stream[2] >>> 11)) + t | 0;
    return t >>> 0;
  }
  Math.random = function random() {
    if (!stream) {
      stream = [seedLow | 0, seedHigh | 0, imul(seedLow ^ 0x9e3779b9, 0x85ebca6b), 1];
      for (let i = 0; i < 12; i++) draw();
    }
    return (draw() >>> 5) / 134217728;
  };

  // ---- native calls that the clock cannot interrupt get a bound on their size --------------------
  const MAX_STEPS = 1e8, MAX_LENGTH = 4194304;
  function guard(owner, name, tooBig) {
    const real = owner[name];
    if (typeof real !== "function") return;
    const guarded = { [name](...args) {
      if (tooBig(this, args)) throw new RangeError(`${name}: too long for a workflow script`);
      return apply(real, this, args);
    } }[name];
    defineProperty(guarded, "length", { value: real.length, configurable: true });
    defineProperty(owner, name, { value: guarded, writable: true, configurable: true, enumerable: false });
  }
  const sizeOf = (value) => typeof value === "string" ? value.length : 0;
  const searchTooBig = (self, args) => {
    const needle = sizeOf(args[0]);
    return needle > 64 && sizeOf(self) > 0 && needle * (self.length - needle + 1) > MAX_STEPS;
  };
  for (const name of ["indexOf", "lastIndexOf", "includes", "split", "replace", "replaceAll"]) {
    guard(String.prototype, name, searchTooBig);
  }
  const arrayTooBig = (self, args) => self != null &&
    (self.length > MAX_LENGTH || args.some !== undefined && isArray(args[0]) && args[0].length > MAX_LENGTH);
  for (const name of ["concat", "copyWithin", "every", "fill", "filter", "find", "findIndex", "findLast",
    "findLastIndex", "flat", "flatMap", "forEach", "includes", "indexOf", "join", "lastIndexOf", "map", "reduce",
    "reduceRight", "reverse", "shift", "slice", "some", "sort", "splice", "toReversed", "toSorted", "toSpliced",
    "toString", "toLocaleString", "unshift", "with"]) {
    guard(Array.prototype, name, arrayTooBig);
  }

  // ---- take away, then freeze --------------------------------------------------------------------
  const KEEP = new Set(["Object", "Array", "String", "Number", "Boolean", "Symbol", "BigInt", "Math", "JSON", "Date",
    "RegExp", "Map", "Set", "WeakMap", "WeakSet", "Error", "EvalError", "RangeError", "ReferenceError", "SyntaxError",
    "TypeError", "URIError", "InternalError", "AggregateError", "Promise", "Proxy", "Reflect", "Iterator",
    "ArrayBuffer", "DataView", "Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array",
    "Int32Array", "Uint32Array", "Float16Array", "Float32Array", "Float64Array", "BigInt64Array", "BigUint64Array",
    "NaN", "Infinity", "undefined", "globalThis", "parseInt", "parseFloat", "isNaN", "isFinite", "encodeURI",
    "encodeURIComponent", "decodeURI", "decodeURIComponent", "escape", "unescape", "btoa", "atob"]);
  for (const name of ownKeys(globalThis)) if (!KEEP.has(name)) delete globalThis[name];
  for (const name of ["prepareStackTrace", "stackTraceLimit", "captureStackTrace"]) delete Error[name];
  defineProperty(globalThis, "console", { value: console, writable: false, enumerable: false, configurable: false });

  const noCode = function Function() {
    throw new TypeError("code made from text is not available in workflow scripts");
  };
  const samples = [function () {}, function* () {}, async function () {}, async function* () {}];
  for (const sample of samples) {
    defineProperty(getPrototypeOf(sample), "constructor", { value: noCode, writable: false, configurable: false });
  }

  // A frozen prototype would forbid `error.name = …` on every instance: an accessor allows it there only.
  function allowOverride(owner) {
    for (const name of ownKeys(owner)) {
      const property = getOwnPropertyDescriptor(owner, name);
      if (!("value" in property) || !property.configurable) continue;
      const { value } = property;
      defineProperty(owner, name, {
        get() { return value; },
        set(own) {
          if (this === owner) throw new TypeError(`${String(name)} is shared and cannot be changed`);
          defineProperty(this, name, { value: own, writable: true, enumerable: true, configurable: true });
        },
        enumerable: property.enumerable, configurable: false,
      });
    }
  }
  allowOverride(Object.prototype);
  for (const name of ["Error", "EvalError", "RangeError", "ReferenceError", "SyntaxError", "TypeError", "URIError",
    "InternalError", "AggregateError"]) {
    allowOverride(globalThis[name].prototype);
  }

  const done = new Set();
  function harden(value) {
    const waiting = [value];
    while (waiting.length) {
      const next = waiting.pop();
      if ((typeof next !== "object" && typeof next !== "function") || next === null || done.has(next)) continue;
      done.add(next);
      if (ArrayBuffer.isView(next)) continue;
      if (next !== globalThis) freeze(next);
      waiting.push(getPrototypeOf(next));
      for (const name of ownKeys(next)) {
        const property = getOwnPropertyDescriptor(next, name);
        waiting.push(property.value, property.get, property.set);
      }
    }
  }
  const roots = [globalThis, hostMembers, dataMembers, collection, Agent, Context, ...samples,
    [][Symbol.iterator](), ""[Symbol.iterator](), new Map().entries(), new Set().entries(), "".matchAll(/x/g),
    [].values().map((x) => x), Iterator.from({ next() {} })];
  for (const root of roots) {
    if (root === globalThis || roots.indexOf(root) <= 9) harden(root); else harden(getPrototypeOf(root));
  }
  harden(samples[1]()), harden(samples[3]());
  freeze(globalThis);

  return { begin, run, finish, equip, foreign, wellFormed, dataMembers, plain: Object.prototype };
})
