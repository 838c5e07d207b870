import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * Curator's part of the benchmark: reads what to do from standard input and writes what it measured to standard
 * output, one line each, as the Go workers do. When standard input ends, it ends at once.
 */
public final class Worker {
    private static final Sessions sessions = new Sessions();
    private static Queue queue;

    public static void main(String[] args) throws Exception {
        PrintStream replies = System.out;
        System.setOut(System.err); // nothing else may come between the replies
        LinkedBlockingQueue<String> requests = new LinkedBlockingQueue<>();
        Thread reader = new Thread(() -> read(requests));
        reader.setDaemon(true);
        reader.start();
        while (true) {
            replies.println(answer(requests.take()));
        }
    }

    private static void read(LinkedBlockingQueue<String> requests) {
        try {
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String request = in.readLine(); request != null; request = in.readLine()) {
                requests.add(request);
            }
        } catch (java.io.IOException e) {
            System.err.println(e);
        }
        Runtime.getRuntime().halt(0);
    }

    private static String answer(String request) {
        try {
            String[] words = request.split(" ");
            Map<String, String> fields = new HashMap<>();
            for (int i = 1; i < words.length; i++) {
                String[] pair = words[i].split("=", 2);
                fields.put(pair[0], URLDecoder.decode(pair[1], StandardCharsets.UTF_8));
            }
            StringBuilder reply = new StringBuilder("ok");
            perform(words[0], new Fields(fields)).forEach(
                    (key, value) -> reply.append(' ').append(key).append('=').append(encode(String.valueOf(value))));
            return reply.toString();
        } catch (Throwable e) {
            return "error text=" + encode(String.valueOf(e));
        }
    }

    private static String encode(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    private static Map<String, ?> perform(String verb, Fields f) throws Exception {
        switch (verb) {
            case "version":
                return Map.of("version", "Java " + Runtime.version());
            case "cycle":
                return Works.cycle(sessions, f);
            case "try":
                return Works.attempt(sessions, f);
            case "refused":
                return Works.refused(sessions, f);
            case "reenter":
                return Works.reenter(sessions, f);
            case "rw":
                return Works.readWrite(sessions, f);
            case "cold":
                return Works.cold(sessions, f);
            case "queue":
                queue = new Queue(sessions, f, Queue::mutex);
                return Map.of();
            case "campaign":
                queue = new Queue(sessions, f, "LeaderLatch".equals(f.text("variant")) ? Queue::latch : Queue::selector);
                return Map.of();
            case "drain":
                return queue.drain(f);
            case "weigh":
                return queue.weigh();
            case "close":
                sessions.close();
                if (queue != null) {
                    queue.close();
                    queue = null;
                }
                return Map.of();
            default:
                throw new IllegalArgumentException("cannot " + verb);
        }
    }
}

/** The fields of a request. */
final class Fields {
    private final Map<String, String> values;

    Fields(Map<String, String> values) {
        this.values = values;
    }

    String text(String key) {
        return values.getOrDefault(key, "");
    }

    int number(String key) {
        return Integer.parseInt(values.getOrDefault(key, "0"));
    }
}
